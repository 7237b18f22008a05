package main

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ptools/internal/check"
	"ptools/internal/listening"
	"ptools/internal/profile"
	"ptools/internal/sample"
	"ptools/internal/usage"
	"ptools/pctl/targets"
)

// help is what --help prints; a test compares it with the flags.
const help = `usage: psample [flags] -p PID|NAME[,…]
       psample [flags] --cgroup GLOB
       psample [flags] -- COMMAND [ARG…]
       psample render [flags] FILE
       psample --demo
       psample --check [-p PID] [--json]

Shows where the threads of a program spend their time.

  -p, --pid PID             a running process, or those with a name or executable that
                            matches, as nginx, /usr/bin/python3* (repeatable, or
                            separated by commas or blanks); several are one profile
      --cgroup GLOB         those in a cgroup whose path matches, as **/nginx.service
                            (* is without slashes, ** with); with -p NAME those of both
  -F, --rate HZ             samples per second (default 99)
  -d, --delta MS            the same as an interval in milliseconds
  -t, --time DURATION       sample this long; a bare number is seconds
                            (default: until the target ends or ^C)
  -s, --stacks              histogram: shares of the function itself and of the
                            stacks it is on; twice (-ss): also print every
                            sample's stack
  -f, --functions           print each sample's function as it is taken
  -l, --lines               file:line instead of functions
  -r, --registers           print each sample's registers
      --value VALUE         samples, cpu, wall, ready (wall time in which a thread
                            waited for a processor) or goroutines (time of those of Go
                            programs): what text is sorted by, what html shows first,
                            and what the other formats show (default cpu); html and
                            json have all, pprof all but ready
      --threads             keep threads apart (by name and tid)
      --follow              also the processes that the targets start, until all have
                            ended
      --by WHAT             with --follow, what is at the root of stacks: process (default
                            of folded and speedscope), command (of html and svg) or none
      --include REGEXP      only stacks with a function whose name matches
      --exclude REGEXP      only stacks without such a function
      --diff BASE           what has grown and shrunk since the profile in the file BASE,
                            in shares: as text, folded, html, svg or json
      --kernel              kernel frames too (needs timers)
      --timers WHEN         measure processor time by timers of the processors, which stop
                            no thread: auto (where permitted), off or only
      --threadcreate        where threads are created, instead of where time goes;
                            with -O threadcreate in Go's text form: a line for each
                            stack, its count and addresses
      --blame               time that threads wait for locks, by the stacks of the
                            threads that hold them; html shows those that wait too
      --top                 live view on a terminal: ? lists its keys; elsewhere a
                            table a second; the profile is written with -o only
      --http ADDR           serve the page with flame graphs, which follows the sampling,
                            and at /pprof/ pprof's own pages; ADDR is HOST:PORT,
                            without HOST on this machine only; port 0 is a free one
  -o, --output FILE         write the profile to FILE (default: standard output)
  -O, --format FORMAT       text, folded, pprof, speedscope, firefox, json, perf
                            (what perf script prints), html (a page with flame
                            graphs) or svg (a flame graph); default by FILE's
                            ending: .txt .folded .pb.gz .speedscope.json
                            .firefox.json .json .perf .html .svg, else text
  -q, --quiet               no progress and no closing line
      --demo                profile a built-in workload; for it the defaults are
                            -t 3 (not with --top) and -F 499
      --check               what works here, by which mechanism, and what to do about the
                            rest; with -p also for that process
      --json                with --check: for programs
      --version             print version and commit
      --print WHAT          print a man page (man), or the completion of a shell:
                            bash, zsh or fish
  -h, --help                print this help

With a COMMAND the exit status is the command's. The text shows for each function its
share of the processor time that was used, and of the wall time of all threads. render
shows a profile that was saved as json or pprof, of other tools too, with the flags -o, -O,
-s, -l, --value, --threads, --by, --include, --exclude and --diff.

examples:
  psample -t 10 -p 4242                  histogram of ten seconds
  psample -s -p 4242                     with callers
  psample -t 10 -o prof.html -p 4242     flame graphs, for a browser
  psample -o prof.pb.gz -- ./server -x   until it ends; go tool pprof prof.pb.gz
  psample -O folded -p 4242 >out.folded  for flame graph scripts
  psample --follow -o make.txt -- make   all processes of a build, by command
  psample --top -p 4242                  what is it doing?
  psample --blame -t 10 -p 4242          who holds the locks?
  psample --threadcreate -t 60 -p 4242   who starts all these threads?
  psample -t 10 --diff old.json -p 4242  what has changed since old.json?
  psample render -o new.html new.json    the page of a saved profile
`

// config is a parsed command line.
type config struct {
	target
	counting
	histogram
	showing
	saved
}

// target is what is to be profiled, and for how long.
type target struct {
	pids    []int
	command []string
	demo    bool
	follow  bool
	found   bool          // some of pids were looked for by name, and may have ended
	length  time.Duration // 0: until the targets end
}

// counting is what is counted, and how.
type counting struct {
	subject
	period  time.Duration
	value   profile.Value
	timers  sample.UseTimers
	kernel  bool
	threads bool
	by      profile.By
}

// subject is what is counted other than time.
type subject struct {
	threadCreate bool
	blame        bool
}

// histogram says what the text has.
type histogram struct {
	stacks    int // -s or -ss
	functions bool
	lines     bool
	registers bool
}

// showing is where the profile goes.
type showing struct {
	output string // empty: standard output
	format profile.Format
	http   string // address to serve the profile at; empty: not served
	top    bool
	quiet  bool
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
	pid           []string
	rate, delta   float64
	length        seconds
	value, format string
	timers, by    string
	cgroup        string

	include, exclude string
}

func (r *rawFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("psample", pflag.ContinueOnError)
	fs.SetInterspersed(false) // flags after the command belong to the command
	fs.Usage = func() {}      // run prints help
	fs.StringSliceVarP(&r.pid, "pid", "p", nil, "")
	fs.StringVar(&r.cgroup, "cgroup", "", "")
	fs.Float64VarP(&r.rate, "rate", "F", 99, "")
	fs.Float64VarP(&r.delta, "delta", "d", 0, "")
	fs.VarP(&r.length, "time", "t", "")
	fs.CountVarP(&r.stacks, "stacks", "s", "")
	fs.BoolVarP(&r.functions, "functions", "f", false, "")
	fs.BoolVarP(&r.lines, "lines", "l", false, "")
	fs.BoolVarP(&r.registers, "registers", "r", false, "")
	fs.StringVar(&r.value, "value", "samples", "")
	fs.BoolVar(&r.threads, "threads", false, "")
	fs.BoolVar(&r.follow, "follow", false, "")
	fs.StringVar(&r.by, "by", "process", "")
	fs.BoolVar(&r.kernel, "kernel", false, "")
	fs.StringVar(&r.timers, "timers", "auto", "")
	fs.StringVar(&r.include, "include", "", "")
	fs.StringVar(&r.exclude, "exclude", "", "")
	fs.StringVar(&r.base, "diff", "", "")
	fs.BoolVar(&r.threadCreate, "threadcreate", false, "")
	fs.BoolVar(&r.blame, "blame", false, "")
	fs.StringVarP(&r.output, "output", "o", "", "")
	fs.StringVarP(&r.format, "format", "O", "", "")
	fs.BoolVar(&r.top, "top", false, "")
	fs.StringVar(&r.http, "http", "", "")
	fs.BoolVarP(&r.quiet, "quiet", "q", false, "")
	fs.BoolVar(&r.demo, "demo", false, "")
	fs.Bool("check", false, "")
	fs.Bool("json", false, "")
	usage.Flags(fs)
	return fs
}

// parse reads the command line. An error is a usage.Error, or a usage.Text that is to be printed.
func parse(args []string) (*config, error) {
	var r rawFlags
	fs := r.set()
	render := len(args) > 0 && args[0] == "render"
	if render {
		args = args[1:]
		fs.SetInterspersed(true)
	}
	if err := fs.Parse(args); err != nil {
		return nil, usage.Wrong(fs, help, err)
	}
	if err := usage.Asked(fs, help, map[string][]string{
		"format": strings.Split(strings.Replace(profile.FormatNames(), " or ", ", ", 1), ", "),
		"value":  {"samples", "cpu", "wall", "ready", "goroutines"},
		"timers": {"auto", "off", "only"},
	}); err != nil {
		return nil, err
	}
	if err := check.Asked(fs, r.pid); err != nil {
		return nil, err
	}
	if fs.Changed("json") {
		return nil, usage.Errorf("--json is for --check; a profile in JSON is -O json")
	}
	checks := []func(*pflag.FlagSet) error{r.targets, r.schedule, r.form, r.creation, r.blaming, r.live, r.golang, r.selection}
	if render {
		checks = []func(*pflag.FlagSet) error{r.file, r.form, r.selection}
	} else {
		r.command = fs.Args()
	}
	r.config.length = time.Duration(r.length)
	for _, fits := range checks {
		if err := fits(fs); err != nil {
			return nil, err
		}
	}
	return &r.config, nil
}

// targets checks that exactly one of the three ways to name a target is used.
func (r *rawFlags) targets(*pflag.FlagSet) error {
	named := len(r.pid) > 0 || r.cgroup != ""
	switch {
	case !named && len(r.command) == 0 && !r.demo:
		return usage.Errorf("what to profile? -p PID, -p NAME, --cgroup GLOB, a COMMAND, or --demo")
	case r.demo && (named || len(r.command) > 0):
		return usage.Errorf("--demo has a program of its own: no -p, --cgroup or COMMAND goes with it")
	case named && len(r.command) > 0:
		return cmp.Or(usage.Several(r.pid, r.command), usage.Beside(r.command))
	}
	var err error
	r.pids, r.found, err = targets.Select(r.pid, r.cgroup)
	if none, ok := errors.AsType[targets.None](err); ok {
		return none
	}
	if err != nil {
		return usage.Errorf("%w", err)
	}
	return nil
}

const maxRate = 10_000

// minRate is one sample in 1,000 s: the time between two has to be a duration.
const minRate = 0.001

func (r *rawFlags) schedule(fs *pflag.FlagSet) error {
	switch rated, timed := fs.Changed("rate"), fs.Changed("delta"); {
	case rated && timed:
		return usage.Errorf("-F and -d are two names of one thing: give one of them")
	case r.demo && !rated && !timed:
		r.rate = demoRate
	case timed:
		if !(r.delta > 0) {
			return usage.Errorf("the interval must be more than 0 ms")
		}
		r.rate = 1000 / r.delta
	}
	if !(r.rate >= minRate && r.rate <= maxRate) { // false for NaN as well
		return usage.Errorf("the rate must be at least %v and at most %d samples a second", minRate, maxRate)
	}
	r.period = time.Duration(float64(time.Second) / r.rate)
	if r.demo && r.config.length == 0 && !r.top {
		r.config.length = demoLength
	}
	return nil
}

// form finds out what is written where.
func (r *rawFlags) form(fs *pflag.FlagSet) error {
	var ok bool
	if r.config.value, ok = profile.ParseValue(r.value); !ok {
		return usage.Errorf("unknown value %q: samples, cpu, wall, ready or goroutines", r.value)
	}
	if r.config.timers, ok = sample.ParseUseTimers(r.timers); !ok {
		return usage.Errorf("unknown use of timers %q: auto, off or only", r.timers)
	}
	if r.config.by, ok = profile.ParseBy(r.by); !ok {
		return usage.Errorf("unknown root of stacks %q: process, command or none", r.by)
	}
	if fs.Changed("by") && !r.follow && r.from == "" {
		return usage.Errorf("--by tells processes apart that --follow samples: it means nothing without")
	}
	if fs.Changed("http") {
		if err := listening.Check(r.http); err != nil {
			return usage.Errorf("--http %w", err)
		}
		if fs.Changed("format") && r.output == "" {
			return usage.Errorf("--http serves all formats it has: give -o FILE for another")
		}
	}
	if fs.Changed("output") && r.output == "" {
		return usage.Errorf("-o wants a file; standard output is -")
	}
	if r.output == "-" || r.output == "/dev/stdout" {
		r.output = ""
	}
	r.config.format, ok = profile.FormatOf(r.output)
	if !ok && !fs.Changed("format") {
		return usage.Errorf("the ending of %s is no format's: %s; or give -O", r.output, profile.FormatEndings())
	}
	if fs.Changed("format") {
		if r.config.format, ok = profile.ParseFormat(r.format); !ok {
			return usage.Errorf("unknown format %q%s: %s", r.format, similarFormat(r.format), profile.FormatNames())
		}
	}
	if !fs.Changed("by") {
		r.config.by = r.config.format.By()
		if r.http != "" && r.output == "" {
			r.config.by = profile.HTML.By()
		}
	}
	if !fs.Changed("value") {
		if r.config.value = profile.CPU; r.threadCreate && r.config.format == profile.Folded {
			r.config.value = profile.Samples // creations are counted
		}
	}
	return nil
}

// formatsElsewhere are names that other tools have for formats.
var formatsElsewhere = map[string]string{
	"flamegraph": "svg, or html", "flame": "svg, or html", "collapsed": "folded", "protobuf": "pprof", "proto": "pprof", "pb": "pprof",
	"script": "perf", "txt": "text",
}

// similarFormat says which format is meant by a name that is none's.
func similarFormat(name string) string {
	meant := formatsElsewhere[strings.ToLower(name)]
	if meant == "" {
		meant = usage.Similar(name, strings.Fields(strings.NewReplacer(",", "", " or ", " ").Replace(profile.FormatNames())))
	}
	if meant == "" {
		return ""
	}
	return " (similar: " + meant + ")"
}

// creation refuses the flags of sampling if nothing is sampled.
func (r *rawFlags) creation(fs *pflag.FlagSet) error {
	switch {
	case !r.threadCreate && r.config.format == profile.Creations:
		return usage.Errorf("-O threadcreate is a form of --threadcreate, which is not given")
	case !r.threadCreate:
		return nil
	case r.config.format == profile.Creations && len(r.pids) > 1:
		return usage.Errorf("-O threadcreate has the addresses of one process: give one PID, or another format")
	case r.config.format == profile.Firefox || r.config.format == profile.Perf:
		return usage.Errorf("-O %v shows when threads did what, which --threadcreate does not keep: give another format", r.config.format)
	}
	for _, name := range []string{"rate", "delta", "functions", "registers", "value", "timers", "follow"} {
		if fs.Changed(name) {
			return usage.Errorf("--threadcreate counts creations and takes no samples: --%s means nothing", name)
		}
	}
	if r.stacks > 1 {
		return usage.Errorf("--threadcreate counts creations and takes no samples: -ss means nothing")
	}
	return nil
}

// blaming refuses flags for what a profile of waiting cannot show.
func (r *rawFlags) blaming(fs *pflag.FlagSet) error {
	switch {
	case !r.blame:
		return nil
	case r.threadCreate || r.top:
		return usage.Errorf("--blame, --threadcreate and --top exclude each other")
	case r.functions || r.registers || r.stacks > 1:
		return usage.Errorf("--blame prints no samples: -f, -r and -ss mean nothing")
	case r.config.format == profile.Firefox || r.config.format == profile.Perf:
		return usage.Errorf("-O %v shows when threads did what, which --blame does not keep: give another format", r.config.format)
	case fs.Changed("value") && r.config.value == profile.CPU:
		return usage.Errorf("--blame counts waits and their time: --value is samples or wall")
	case !fs.Changed("value"):
		r.config.value = profile.Wall
	}
	return nil
}

// live refuses flags that do not go with a live view.
func (r *rawFlags) live(fs *pflag.FlagSet) error {
	if !r.top {
		return nil
	}
	if len(r.command) > 0 {
		return usage.Errorf("--top shows a running process: a COMMAND would write on the same terminal; give -p")
	}
	if r.functions || r.registers || r.stacks > 1 || r.threadCreate {
		return usage.Errorf("--top prints no samples: -f, -r, -ss and --threadcreate mean nothing")
	}
	if fs.Changed("format") && r.output == "" {
		return usage.Errorf("--top uses standard output: give -o FILE for the profile")
	}
	if !fs.Changed("value") {
		r.config.value = profile.CPU
	}
	return nil
}

// options returns the options of the profile's output.
func (c *config) options() *profile.Options {
	return &profile.Options{Value: c.value, OnStack: c.stacks > 0, Lines: c.lines, Threads: c.threads, By: c.by}
}

// timersOptions returns the options of the timers.
func (c *config) timersOptions() sample.TimersOptions {
	return sample.TimersOptions{Period: c.period, Kernel: c.kernel, Follow: c.follow, Blame: c.blame}
}

// wantsLines reports whether addresses must be resolved to source lines.
func (c *config) wantsLines() bool {
	return c.lines || c.http != "" || c.format != profile.Text && c.format != profile.Folded
}
