package procfs

import (
	"errors"
	"sync/atomic"
	"syscall"
)

// Lacking reports whether an error means a lack of descriptors or memory, in this program or on the machine. Such an
// error says nothing about the file that was to be opened.
func Lacking(err error) bool {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// lacks counts what could not be opened for a lack of descriptors or memory.
var lacks atomic.Int64

// NoteLack counts an error that means such a lack, and that leaves a result incomplete.
func NoteLack(err error) {
	if Lacking(err) {
		lacks.Add(1)
	}
}

// Lacks returns how many times files of targets and pidfds could not be opened for a lack of descriptors or memory. What
// was read while it has grown may be incomplete: many errors of /proc only say that a thread or process has ended, and a
// file that cannot be opened has no names. Any goroutine may call.
func Lacks() int64 { return lacks.Load() }
