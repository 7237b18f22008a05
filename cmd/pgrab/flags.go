package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"ptools/internal/check"
	"ptools/internal/usage"
	"ptools/pctl"
	"ptools/pctl/targets"
)

const help = `usage: pgrab [flags] -p PID|NAME[,...]
       pgrab [flags] --cgroup GLOB
       pgrab [flags] -- COMMAND [ARG...]
       pgrab --check [-p PID] [--json]

Grab running processes or start a command, stop them at rendezvous points,
look, continue them, watch their events, and let them go unharmed.

flags:
%s
A SYMBOL may be a raw or a demangled name. Without parameters or type arguments
it means all such functions, and the clones that the compiler has made. Of a
pattern, as mall*, hits are counted and named by function. FILE:LINE is all
places that have code of the line, those of inlined copies too; FILE is the end
of a path, as util.c or src/util.c. A symbol
that no object has is waited for; if none comes, that is said, with the
functions that it is inlined in, and the exit status is 1. A number without a
unit is seconds. While a process is held at a rendezvous, a line or the end of
standard input continues it. SIGINT, SIGTERM, SIGHUP and SIGQUIT let go; what
is typed at a terminal that a COMMAND has, as ^C, ^\ and ^Z, is for the
COMMAND. Where int3 instructions stand in for uprobes a line on standard error
says why, and what that means if pgrab is killed.

examples:
  pgrab -p 4242                        stop it, wait for Enter, then watch it
  pgrab -w -p 4242                     where does it hang? stacks of all threads,
                                       what each waits for, and let go at once
  pgrab -s none -b malloc -t 10 -q -p 4242
                                       count calls of malloc for ten seconds
  pgrab -b '*Command' -n 50 -w -s none -p redis-server
                                       which of its functions are called, from where
  pgrab -s preinit,main -H 1 -- ls     a second before and a second after its
                                       libraries are initialised
  pgrab --follow -b malloc -q -s none -- make
                                       count calls of malloc in a whole build
  pgrab --json -s none -p 4242 | jq .  events for programs
`

// options is a parsed command line.
type options struct {
	pids       []int
	command    []string
	stop       []pctl.Point
	hold       time.Duration // negative: until a line arrives
	limit      time.Duration // negative: until the target ends
	breaks     []pctl.Where
	values     values
	hits       int // after so many the breakpoints are taken away; negative: never, 0: as it fits the output
	release    pctl.Mode
	trap       pctl.Trap
	form       form
	detail     detail
	stacks     stacks
	goroutines goroutines
	debug      bool // print the trace
	follow     bool // also processes that the targets start
	found      bool // some of pids were looked for by name, and may have ended
}

// stacks says which stacks are shown: of all threads at a rendezvous, and of the thread at a hit.
type stacks uint8

const (
	noStacks      stacks = iota
	groupedStacks        // threads with the same stack together
	eachStack
)

func (s stacks) String() string { return [...]string{"none", "grouped", "each"}[s] }

// form is the form of what is printed.
type form uint8

const (
	formText form = iota
	formJSON
)

func (f form) String() string { return [...]string{"text", "json"}[f] }

// detail says how much is printed.
type detail uint8

const (
	detailEvents  detail = iota
	detailResults        // no events, with --quiet
	detailAll            // also events of threads and signals, and source lines, with --verbose
)

func (d detail) String() string { return [...]string{"events", "results", "all"}[d] }

// showsEvents reports whether events have lines.
func (o *options) showsEvents() bool { return o.detail != detailResults }

// parse reads the arguments. An error is a usage.Error, or a usage.Text that is to be
// printed.
func parse(args []string) (*options, error) {
	o := &options{hold: -1, limit: -1}
	var json, quiet, verbose, where, each, threads, trace, values bool
	var pids, stops, wheres []string
	var hold, limit, release, trap, cgroup string
	f := pflag.NewFlagSet("pgrab", pflag.ContinueOnError)
	f.SetInterspersed(false)
	f.SetOutput(io.Discard)
	f.SortFlags = false
	f.Usage = func() {}
	f.StringSliceVarP(&pids, "pid", "p", nil, "grab running process `PID`, or those with a name or executable\nthat matches, as nginx, /usr/bin/python3* (repeatable, or\nseparated by commas or blanks)")
	f.StringVar(&cgroup, "cgroup", "", "those in a cgroup whose path matches `GLOB`, as\n**/nginx.service (* is without slashes, ** with); with\n-p NAME those of both")
	f.StringSliceVarP(&stops, "stop", "s", nil, "stop at `POINT`s: grab, create, exec, preinit, postinit, main, none\n(each once; default: grab with -p, create with a COMMAND)")
	f.StringVarP(&hold, "hold", "H", "", "stay for `DURATION` at each rendezvous, then continue\n(default: until a line or end of file on standard input)")
	f.StringVarP(&limit, "time", "t", "", "let go after `DURATION` (default: when the target ends)")
	f.StringArrayVarP(&wheres, "break", "b", nil, "breakpoint `WHERE`: SYMBOL, OBJECT`SYMBOL, either with +OFFSET,\nFILE:LINE, OBJECT`FILE:LINE, or 0xADDRESS; * and ? in names\nstand for any text or character, for up to 2000 functions\n(repeatable)")
	f.IntVarP(&o.hits, "hits", "n", 0, "after `HITS` hits take the breakpoints away, and let a\nprocess of -p go (default 1000 on a terminal; else, and\nwith 0, never)")
	f.BoolVar(&values, "args", false, "with -b, each hit with the arguments of the function, as pcalls\nshows them")
	f.BoolVarP(&where, "where", "w", false, "the threads' stacks at each rendezvous, and what they wait\nfor; with -b the hit thread's stack at each hit. With -p\nand without -s and -H nothing is held longer than the look:\nwithout -b and -t pgrab looks and lets go, and of a Go\nprogram it shows the goroutines, without stopping it")
	f.BoolVar(&each, "each", false, "like -w, but threads or goroutines with the same stack one by\none")
	f.BoolVar(&threads, "threads", false, "like -w, but always threads")
	f.BoolVar(&trace, "go", false, "the goroutines of a Go program in the form of Go's own traces,\nwithout the values of arguments; with --json an object each")
	f.StringVarP(&release, "release", "e", "", "what becomes of the target when pgrab lets go or dies:\n`run|kill|stop` (default: run with -p, kill with a COMMAND);\nwhat somebody else has stopped stays stopped")
	f.StringVar(&trap, "trap", "auto", "what breakpoints are: `auto|int3|uprobe` (the kernel's,\nharmless when pgrab is killed)")
	f.BoolVar(&o.follow, "follow", false, "also the processes that the targets start, and theirs, until\nall have ended")
	f.BoolVar(&json, "json", false, "events as JSON lines on standard output; with --check its report")
	f.BoolVarP(&quiet, "quiet", "q", false, "no event lines, only results")
	f.BoolVarP(&verbose, "verbose", "v", false, "also thread births and deaths, signals, source lines of stacks")
	f.BoolVar(&o.debug, "debug", false, "when pgrab has let go, a trace on standard error: each wait\nstatus and each ptrace request, with the thread's state")
	f.Bool("check", false, "what works here, by which mechanism, and what to do about the\nrest; with -p also for that process")
	usage.Flags(f)
	if err := f.Parse(args); err != nil {
		return nil, usage.Wrong(f, fmt.Sprintf(help, f.FlagUsages()), err)
	}
	if err := usage.Asked(f, fmt.Sprintf(help, f.FlagUsages()), map[string][]string{
		"stop":    {"grab", "create", "exec", "preinit", "postinit", "main", "none"},
		"release": {"run", "kill", "stop"},
		"trap":    {"auto", "int3", "uprobe"},
	}); err != nil {
		return nil, err
	}
	if err := check.Asked(f, pids); err != nil {
		return nil, err
	}
	o.command = f.Args()
	err := cmp.Or(
		o.setTargets(pids, cgroup),
		o.setStop(stops),
		setDuration(f, &o.hold, "hold", hold),
		setDuration(f, &o.limit, "time", limit),
		o.setBreaks(wheres),
		o.setRelease(f, release),
		o.setTrap(trap),
	)
	err = cmp.Or(err, o.setHits(f.Changed("hits")), o.setDetail(quiet, verbose))
	o.setStacks(f, where || threads || trace, each)
	if json {
		o.form = formJSON
	}
	err = cmp.Or(err, o.setGoroutines(threads, trace), o.setArgs(values))
	if none, ok := errors.AsType[targets.None](err); ok {
		return nil, none
	}
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	return o, nil
}

// setHits checks the number of hits that was given, if any was.
func (o *options) setHits(given bool) error {
	switch {
	case given && o.hits < 0:
		return fmt.Errorf("-n HITS: %d is less than 0", o.hits)
	case given && len(o.breaks) == 0:
		return errors.New("-n counts hits of breakpoints: it needs -b")
	case given && o.hits == 0:
		o.hits = -1
	}
	return nil
}

func (o *options) setDetail(quiet, verbose bool) error {
	switch {
	case quiet && verbose:
		return errors.New("--quiet and --verbose exclude each other")
	case quiet:
		o.detail = detailResults
	case verbose:
		o.detail = detailAll
	}
	return nil
}

func (o *options) setTargets(pids []string, cgroup string) (err error) {
	switch named := len(pids) != 0 || cgroup != ""; {
	case !named && len(o.command) == 0:
		return errors.New("a process id or a command is needed: -p PID, -p NAME, --cgroup GLOB or -- COMMAND")
	case named && len(o.command) != 0:
		return cmp.Or(usage.Several(pids, o.command), usage.Beside(o.command))
	}
	o.pids, o.found, err = targets.Select(pids, cgroup)
	return err
}

// points are the words of --stop.
var points = map[string]pctl.Point{
	"grab": pctl.PointGrab, "create": pctl.PointCreate, "exec": pctl.PointExec,
	"preinit": pctl.PointPreinit, "postinit": pctl.PointPostinit, "main": pctl.PointMain,
	"none": 0,
}

func (o *options) setStop(words []string) error {
	if words == nil {
		o.stop = []pctl.Point{pctl.PointGrab}
		if len(o.command) != 0 {
			o.stop = []pctl.Point{pctl.PointCreate}
		}
		return nil
	}
	for _, w := range words {
		p, ok := points[w]
		if !ok {
			return fmt.Errorf("%q is no stop point: grab, create, exec, preinit, postinit, main or none", w)
		}
		switch {
		case p != 0:
			o.stop = append(o.stop, p)
		case len(words) > 1:
			return errors.New("stop point none stands alone")
		}
	}
	switch {
	case slices.Contains(o.stop, pctl.PointCreate) && len(o.command) == 0:
		return errors.New("stop point create is only for a command")
	case slices.Contains(o.stop, pctl.PointGrab) && len(o.command) != 0:
		return errors.New("stop point grab is only for -p")
	}
	return nil
}

// setStacks sets which stacks are shown. For stacks alone a running process is not held: the question where it hangs
// is no reason to stop it.
func (o *options) setStacks(f *pflag.FlagSet, where, each bool) {
	switch {
	case each:
		o.stacks = eachStack
	case where:
		o.stacks = groupedStacks
	default:
		return
	}
	if len(o.pids) == 0 || f.Changed("stop") || f.Changed("hold") {
		return
	}
	if len(o.breaks) != 0 {
		o.hold = 0
	} else if !f.Changed("time") {
		o.hold, o.limit, o.goroutines = 0, 0, groupedGoroutines
	}
}

func (o *options) setBreaks(wheres []string) error {
	for _, s := range wheres {
		w, err := pctl.ParseWhere(s)
		if err != nil {
			return fmt.Errorf("breakpoint %w", err)
		}
		o.breaks = append(o.breaks, w)
	}
	return nil
}

func (o *options) setRelease(f *pflag.FlagSet, word string) error {
	if !f.Changed("release") {
		word = "run"
		if len(o.command) != 0 {
			word = "kill"
		}
	}
	switch word {
	case "run":
		o.release = pctl.ModeRun
	case "kill":
		o.release = pctl.ModeKill
	case "stop":
		o.release = pctl.ModeStop
	default:
		return fmt.Errorf("%q is no release mode: run, kill or stop", word)
	}
	return nil
}

func (o *options) setTrap(word string) error {
	for _, t := range []pctl.Trap{pctl.TrapAuto, pctl.TrapInt3, pctl.TrapUprobe} {
		if t.String() == word {
			o.trap = t
			return nil
		}
	}
	return fmt.Errorf("%q is no kind of trap: auto, int3 or uprobe", word)
}

// setDuration parses a duration if the flag was given. A bare number is
// seconds.
func setDuration(f *pflag.FlagSet, d *time.Duration, name, s string) error {
	if !f.Changed(name) {
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		v, err = time.ParseDuration(s + "s")
	}
	if err != nil || v < 0 {
		return fmt.Errorf("--%s: %q is no duration (500ms, 2s, 1m30s)", name, s)
	}
	*d = v
	return nil
}
