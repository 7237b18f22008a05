package perfevent

import "errors"

// ErrNoUprobes says that there are no uprobes on this platform. It is an
// [errors.ErrUnsupported].
var ErrNoUprobes error = noUprobes{"kernel has no uprobes for BPF programs"}

// ErrNoFetch says that the kernel is too old for [Calls].
var ErrNoFetch error = noUprobes{"kernel has no atomic operations of BPF programs that return the old value (Linux 5.12)"}

// errOtherNamespace: a BPF program cannot find the number by which we know a
// thread.
var errOtherNamespace error = noUprobes{"process is in another PID namespace than this program"}

// ErrThreadEnded is the error of a probe for a thread that has ended, where [EndWithThread] is true.
var ErrThreadEnded error = noUprobes{"the thread has ended"}

// noUprobes says why uprobes are unsupported.
type noUprobes struct{ why string }

func (e noUprobes) Error() string      { return e.why }
func (noUprobes) Is(target error) bool { return target == errors.ErrUnsupported }
