package main

import (
	"strings"

	"github.com/spf13/pflag"

	"ptools/internal/listening"
	"ptools/internal/profile"
	"ptools/internal/sample"
	"ptools/internal/usage"
)

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
		return usage.Errorf("unknown root of stacks %q: process, command, none or goroutine", r.by)
	}
	if fs.Changed("by") && !r.follow && r.from == "" && r.config.by != profile.ByGoroutine {
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
		switch r.config.value = profile.CPU; {
		case r.threadCreate && r.config.format == profile.Folded:
			r.config.value = profile.Samples // creations are counted
		case r.config.by == profile.ByGoroutine:
			r.config.value = profile.Goroutines
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
	for _, name := range []string{"rate", "delta", "functions", "registers", "value", "timers", "goroutines", "follow"} {
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
