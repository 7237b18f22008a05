package main

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ptools/internal/check"
	"ptools/internal/profile"
	"ptools/internal/sample"
	"ptools/internal/usage"
	"ptools/pctl/targets"
)

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
	beside  sample.Beside
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
	goroutines    string
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
	fs.StringVar(&r.goroutines, "goroutines", "auto", "")
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
		"format":     strings.Split(strings.Replace(profile.FormatNames(), " or ", ", ", 1), ", "),
		"value":      {"samples", "cpu", "wall", "ready", "goroutines"},
		"timers":     {"auto", "off", "only"},
		"goroutines": {"auto", "off"},
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
