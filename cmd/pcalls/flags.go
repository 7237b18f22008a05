package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ptools/internal/calls"
	"ptools/internal/usage"
	"ptools/pctl"
	"ptools/pctl/targets"
)

// help is what --help prints; a test compares it with the flags.
const help = "usage: pcalls [flags] -p PID|NAME [OBJECT`]PATTERN[(CONDITION)]…\n" +
	"       pcalls [flags] [OBJECT`]PATTERN[(CONDITION)]… -- COMMAND [ARG…]\n" + `
Counts and times calls of functions of a running program, and lets it live.

  -p, --pid PID             a running process, several as 12,13, or those with a name or
                            executable that matches, as nginx, /usr/bin/python3*
      --follow              also children that the processes start, and theirs, until all have
                            ended; of programs that they execute what is in the same files, as
                            the C library, or in an OBJECT that is a path. Other processes
                            with these files are slowed, too
  -t, --time DURATION       count this long; a bare number is seconds
                            (default: until the target ends or ^C)
  -n, --number N            print at most N functions, or lines with --by
                            (default: all; with --top 20, on a terminal what fits)
      --slower DURATION     also print each call that took at least this long, when it ends:
                            the time, thread, duration and function; a bare number is
                            seconds
      --by KEY              a line for each function and value of KEY: an argument (a name,
                            $1, req.id), return, thread, goroutine, process, caller, or
                            stack
      --sum EXPR            sum a number over the calls: arguments, members of them and
                            numbers with + - *, or return; the largest sum comes first
      --hist                below each line how many of its calls took how long: four classes
                            for each power of two
      --tree                the calls of the functions as they were nested: below each those
                            that it made, with the time without them; --tree=DEPTH prints
                            DEPTH levels
  -o, --output FILE         write a profile of the calls by stack, in the format of its ending:
                            .pb.gz, .html, .svg, .folded or .speedscope.json. It implies
                            --by stack, but the table has a line for each function
  -O, --format FORMAT       pprof, html, svg, folded or speedscope, whatever the ending is
      --value VALUE         what -o shows first, and folded, svg and speedscope show: calls,
                            time or sum (default: sum with --sum, else time)
      --unit UNIT           the unit of the sum in -o, as bytes
      --args                also print each call with its arguments and result; with --slower
                            those that are slow
      --where               also print each call with its stack; with --slower those that
                            are slow
      --stack-size SIZE     how much of each stack is copied for --where, --by stack, --tree
                            and -o, up to 256k (default 16k): deep stacks, as of Python
                            code that calls C that calls Python, are cut without more
      --top                 a table each second, of that second, until ^C
      --list                print the functions that would be counted, where their probes
                            would be, and why some can have none; set nothing
      --json                a JSON object a line for each function that was called, with
                            its histogram; with --list for each function
      --force               time all functions of a running process, however much that slows it
                            (default: functions whose probes take it more than 20% of a
                            processor have them now and then only, and are named)
      --trap TRAP           auto, uprobe, or int3: threads are stopped where calls begin and
                            end, which takes some 10 to 50 us each time. auto does so where
                            the kernel refuses uprobes
  -q, --quiet               no closing line
      --version             print version and commit
      --print WHAT          print a man page (man), or the completion of a shell:
                            bash, zsh or fish
  -h, --help                print this help

A PATTERN is a function's name, in which * is any text and ? any character: the name in
the symbol table, the demangled name with or without parameters, a C++ name without
namespaces, a Go name with or without the path of its package. FILE:LINE are the functions
that have code of a line of source; FILE is the end of its path. OBJECT is a path, a file
name, a file name up to .so, what a library calls itself, or of the program a.out or the
name by which it was executed. Without it all objects are searched. Those that are loaded
later are not, unless OBJECT is their path.

Before calls of a running process are counted, a look of some milliseconds at each function
tells how often it is called. Functions whose probes would take more than 20% of a
processor are only counted, or have their probes for some milliseconds now and then, and a
line says so; the others are timed. The same watch goes on while it is counted. A COMMAND is
always counted as a whole.

A CONDITION says which calls are counted: arguments by name, or by number as $1, and
members as req.id or conn->fd, compared by == != < <= > >= with a number (64k, 1m, 0x1f),
a text ("GET"), an enumerator or another argument; id % 100 is a remainder; && || ! and
parentheses. The kernel evaluates it. Names take debug information.

A call's time is from its beginning to its end, waiting included. It includes what probes
cost: some 0.5 us at an entry that --list calls emulated, 1 us at another; in virtual
machines 10 to 20 us at the latter, and up to 5 us at the former. Ends cost that too, but
after the time was taken: a caller's time has it. A call that is left by an exception,
longjmp or a panic has no time. It counts as open, as do calls that have not ended yet.

With a COMMAND the exit status is the command's.

examples:
  pcalls -p redis-server 'a.out` + "`" + `*Command' -t 10
  pcalls -p 4242 'net/http.*'              of a Go server
  pcalls --top -p 4242 malloc free
  pcalls --slower 10ms -p 4242 'a.out` + "`" + `*Command'
  pcalls --by caller --sum '$1' -p 4242 malloc
  pcalls --tree=4 -p 4242 'net/http.*' 'main.*'
  pcalls -o f.html --sum '$1' -p 4242 'malloc($1 > 1m)'
  pcalls --by return -p 4242 'libc` + "`" + `close'
  pcalls --args -p 4242 'malloc($1 > 1m)'
  pcalls --slower 10ms --args --where -p 4242 'main.handle'
  pcalls -n 10 '*' -- ./build/prog -x      the whole program
  pcalls '/usr/lib/libssl.so.3` + "`" + `SSL_*' -- ./prog    it loads that itself
  pcalls --follow -p 4242 exec_simple_query    of postgres: backends to come, too
  pcalls --list -p 4242 'std::string::*'   sets nothing
`

// config is a parsed command line.
type config struct {
	pids     []int // none: a command
	patterns []calls.Pattern
	command  []string
	length   time.Duration // 0: until the target ends
	follow   bool          // children are counted, too
	force    bool          // whatever the probes take of the target
	slower   time.Duration // calls that took as long are printed; 0: none
	detail   detail        // what is printed of each call, or each slow one
	by       *calls.Key    // what calls are told apart by; nil: nothing, or processes
	sum      *calls.Sum    // nil: nothing is summed
	stack    size          // of each stack that is copied; 0: the usual
	trap     trap
	save     saving
	showing
}

// A detail is what is printed of a call beside its time.
type detail struct{ args, where bool }

// any reports whether calls are printed at all because of it.
func (d detail) any() bool { return d.args || d.where }

// spec returns what is counted.
func (c *config) spec() calls.Spec {
	return calls.Spec{
		CallReports: calls.CallReports{Each: c.slower == 0 && c.detail.any(), Least: c.slower, Values: c.detail.args, Stack: c.detail.where, StackSize: int(c.stack)},
		By:          c.by, Sum: c.sum, Follow: c.follow,
	}
}

// showing is what is printed.
type showing struct {
	number int // of functions; 0: all
	view
	json  bool
	quiet bool
	// perProcess: each process has rows of its own.
	perProcess bool
}

// view is what is printed at all.
type view struct {
	top, list, hist bool
	tree            depth
}

// seconds is the value of a duration flag. A bare number means seconds.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }
func (s *seconds) Type() string   { return "DURATION" }

func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, numErr := strconv.ParseFloat(text, 64); numErr == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	switch {
	case err != nil:
		return errors.New("not a number of seconds or a duration like 1m30s")
	case d <= 0:
		return errors.New("not a positive duration")
	}
	*s = seconds(d)
	return nil
}

// rawFlags are the values of flags before they are checked.
type rawFlags struct {
	config
	named  []string
	length seconds
	slower seconds
	by     string
	sum    string
	savingFlags
}

func (r *rawFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("pcalls", pflag.ContinueOnError)
	fs.Usage = func() {} // run prints help
	fs.StringSliceVarP(&r.named, "pid", "p", nil, "")
	fs.VarP(&r.length, "time", "t", "")
	fs.Var(&r.slower, "slower", "")
	fs.IntVarP(&r.number, "number", "n", 0, "")
	fs.StringVar(&r.by, "by", "", "")
	fs.StringVar(&r.sum, "sum", "", "")
	r.savingFlags.add(fs)
	r.tree.add(fs)
	fs.BoolVar(&r.detail.args, "args", false, "")
	fs.BoolVar(&r.detail.where, "where", false, "")
	fs.Var(&r.stack, "stack-size", "")
	fs.BoolVar(&r.top, "top", false, "")
	fs.BoolVar(&r.list, "list", false, "")
	fs.BoolVar(&r.hist, "hist", false, "")
	fs.BoolVar(&r.json, "json", false, "")
	fs.BoolVar(&r.force, "force", false, "")
	fs.Var(&r.trap, "trap", "")
	fs.BoolVar(&r.follow, "follow", false, "")
	fs.BoolVarP(&r.quiet, "quiet", "q", false, "")
	usage.Flags(fs)
	return fs
}

// parse reads the command line. An error is a usage.Error, or a usage.Text that is to be printed.
func parse(args []string) (*config, error) {
	var r rawFlags
	fs := r.set()
	if err := fs.Parse(args); err != nil {
		return nil, usage.Wrong(fs, help, err)
	}
	if err := usage.Asked(fs, help, map[string][]string{"by": {"return", "thread", "goroutine", "process", "caller", "stack"}, "format": callFormats(), "value": {"calls", "time", "sum"}, "trap": trapWords()}); err != nil {
		return nil, err
	}
	patterns := fs.Args()
	if at := fs.ArgsLenAtDash(); at >= 0 {
		patterns, r.command = patterns[:at], patterns[at:]
	}
	r.config.length, r.config.slower = time.Duration(r.length), time.Duration(r.slower)
	if err := r.group(fs); err != nil {
		return nil, err
	}
	for _, text := range patterns {
		p, err := calls.ParsePattern(text)
		if err != nil {
			return nil, usage.Errorf("%q is no pattern: %w", text, err)
		}
		r.patterns = append(r.patterns, p)
	}
	if err := r.saved(fs); err != nil {
		return nil, err
	}
	if err := r.nested(fs); err != nil {
		return nil, err
	}
	if err := r.check(fs); err != nil {
		return nil, err
	}
	if len(r.command) > 0 {
		return &r.config, nil
	}
	var err error
	if r.pids, err = r.processes(); err != nil {
		return nil, err
	}
	return &r.config, nil
}

// group reads what calls are told apart by, and what is summed.
func (r *rawFlags) group(fs *pflag.FlagSet) (err error) {
	if r.perProcess = r.by == "process" && !r.follow; fs.Changed("by") && !r.perProcess {
		if r.config.by, err = calls.ParseKey(r.by); err != nil {
			return usage.Errorf("--by %q: %w", r.by, err)
		}
	}
	if fs.Changed("sum") {
		if r.config.sum, err = calls.ParseSum(r.sum); err != nil {
			return usage.Errorf("--sum %q: %w", r.sum, err)
		}
	}
	return nil
}

// check refuses flags that do not go together.
func (r *rawFlags) check(fs *pflag.FlagSet) error {
	named := fs.Changed("pid")
	switch {
	case !named && len(r.command) == 0 && fs.ArgsLenAtDash() >= 0:
		return usage.Errorf("no COMMAND after --")
	case !named && len(r.command) == 0:
		return usage.Errorf("calls of what program? -p PID, -p NAME, or -- COMMAND")
	case named && len(r.command) > 0:
		return usage.Errorf("-p and a COMMAND exclude each other")
	case len(r.patterns) == 0:
		return usage.Errorf("which functions? a PATTERN, as malloc or 'net/http.*'; '*' is all")
	case r.number < 0 || fs.Changed("number") && r.number == 0:
		return usage.Errorf("-n wants a positive number of functions")
	case fs.Changed("stack-size") && !r.detail.where && !r.config.by.Stack():
		return usage.Errorf("--stack-size is about copies of stacks: give --where, --by stack, --tree or -o")
	case r.hist && (r.list || r.top || r.tree.on()):
		return usage.Errorf("--hist is part of the table at the end: --list, --top and --tree do not go with it")
	case r.hist && r.json:
		return usage.Errorf("--json has the histograms already: give it without --hist")
	case r.list && (r.config.save.output != "" || r.top || r.detail.any() || r.config.by != nil || r.config.sum != nil ||
		r.follow || fs.Changed("time") || fs.Changed("number") || fs.Changed("slower")):
		return usage.Errorf("--list counts nothing: --follow, --top, --slower, --args, --where, --by, --sum, -o, -t and -n mean nothing")
	case r.config.save.output != "" && (r.top || r.slower > 0 || r.detail.any()):
		return usage.Errorf("-o is a profile of all calls: --top, --slower, --args and --where do not go with it")
	case r.config.by.Stack() && (r.top && !r.tree.on() || r.slower > 0 || r.detail.any()):
		return usage.Errorf("--by stack prints stacks with what all their calls took: --top, --slower, --args and --where do not go with it")
	case r.follow && pctl.Trap(r.trap) == pctl.TrapInt3:
		return usage.Errorf("--follow takes uprobes: --trap int3 does not go with it")
	case r.force && (len(r.command) > 0 || r.list):
		return usage.Errorf("--force is about a running process that is counted: with --list nothing is, and a COMMAND is always counted as a whole")
	case r.top && (fs.Changed("slower") || r.detail.any()):
		return usage.Errorf("--top draws tables over the calls that --slower, --args and --where print: give one of them")
	case r.top && r.json:
		return usage.Errorf("--top is for people: give --json without it")
	case r.top && len(r.command) > 0:
		return usage.Errorf("--top shows a running process: a COMMAND would write on the same terminal; give -p")
	}
	return nil
}

// mostProcesses bounds how many processes are counted at the same time.
const mostProcesses = 64

// processes returns those that -p means.
func (r *rawFlags) processes() ([]int, error) {
	pids, _, err := targets.Select(r.named, "")
	if none, ok := errors.AsType[targets.None](err); ok {
		return nil, none
	}
	switch n := len(pids); {
	case err != nil:
		return nil, usage.Errorf("%w", err)
	case n > mostProcesses:
		return nil, fmt.Errorf("-p means %d processes, and at most %d are counted: give some of them", n, mostProcesses)
	case n > 1 && (r.tree.on() || r.list || r.config.save.output != ""):
		var texts []string
		for _, pid := range pids[:min(n, 8)] {
			texts = append(texts, strconv.Itoa(pid))
		}
		return nil, usage.Errorf("-p means %d processes, and --tree, --list and -o are about one: %s", n, strings.Join(texts, ", "))
	}
	return pids, nil
}
