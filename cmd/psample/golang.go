package main

import (
	"github.com/spf13/pflag"

	"ptools/internal/profile"
	"ptools/internal/usage"
)

// wantsGoroutines reports whether goroutines of Go programs are sampled, too.
func (c *config) wantsGoroutines() bool { return !c.follow && !c.top && !c.blame && !c.threadCreate }

// golang refuses flags that do not go with goroutines.
func (r *rawFlags) golang(*pflag.FlagSet) error {
	switch {
	case r.config.value != profile.Goroutines:
		return nil
	case !r.wantsGoroutines():
		return usage.Errorf("goroutines are not sampled with --follow, --top, --blame and --threadcreate: --value goroutines means nothing")
	case r.config.format == profile.Firefox || r.config.format == profile.Perf:
		return usage.Errorf("-O %v shows when threads did what: it has no goroutines", r.config.format)
	}
	return nil
}
