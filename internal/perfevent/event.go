package perfevent

import "errors"

// Options of an event. Nil and the zero value count and disturb nobody.
type Options struct {
	// SigTrap raises SIGTRAP in the thread at each hit (Linux 5.13). The thread
	// must not have it blocked, or it is killed (force_sig_perf).
	SigTrap bool
	// SigData is si_perf_data of that signal.
	SigData uint64
}

// ErrNoUprobes says that the kernel has no uprobe events (CONFIG_UPROBE_EVENTS).
// It is an [errors.ErrUnsupported].
var ErrNoUprobes error = noUprobes{}

type noUprobes struct{}

func (noUprobes) Error() string        { return "kernel has no uprobe events" }
func (noUprobes) Is(target error) bool { return target == errors.ErrUnsupported }
