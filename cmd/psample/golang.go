package main

import (
	"github.com/spf13/pflag"

	"ptools/internal/profile"
	"ptools/internal/sample"
	"ptools/internal/usage"
)

// golang finds out whether goroutines of Go programs are sampled, too, and refuses flags that do not go with that.
func (r *rawFlags) golang(fs *pflag.FlagSet) error {
	wanted := r.config.value == profile.Goroutines
	other := r.follow || r.top || r.blame || r.threadCreate
	each := r.config.by == profile.ByGoroutine && r.from == ""
	switch {
	case r.goroutines != "auto" && r.goroutines != "off":
		return usage.Errorf("unknown sampling of goroutines %q: auto or off", r.goroutines)
	case each && (other || r.goroutines == "off"):
		return usage.Errorf("goroutines are not sampled with --follow, --top, --blame, --threadcreate and --goroutines off: --by goroutine means nothing")
	case other && (wanted || fs.Changed("goroutines")):
		return usage.Errorf("goroutines are not sampled with --follow, --top, --blame and --threadcreate: --%s means nothing",
			map[bool]string{true: "value goroutines", false: "goroutines"}[wanted])
	case wanted && r.goroutines == "off":
		return usage.Errorf("--goroutines off has no goroutines to show: --value goroutines means nothing")
	case wanted && (r.config.format == profile.Firefox || r.config.format == profile.Perf):
		return usage.Errorf("-O %v shows when threads did what: it has no goroutines", r.config.format)
	}
	if r.goroutines == "auto" && !other {
		if r.config.beside = sample.Goroutines; each {
			r.config.beside = sample.EachGoroutine
		}
	}
	return nil
}
