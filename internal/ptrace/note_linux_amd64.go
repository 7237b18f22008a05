package ptrace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread's debug status register (DR6) is a word in the kernel that only tracers see. Tracers
// write it, and a debug exception of the thread does. The next tracer can read it. So it keeps a
// note about a stopped thread, from one tracer to the next. The bits that the processor sets are
// left as they are without an exception, because some debuggers look at them.
const (
	debugStatus = 848 + 6*8 // offset of u_debugreg[6] in struct user
	noteUnused  = 0xffff
	noteIdle    = 0x0ff0
)

// Note returns the note about a stopped thread: the lower 16 bits are 0.
func Note(tid int) (note uint64, err error) {
	// The system call stores the word in memory; the C library would return it.
	err = exchange(unix.PTRACE_PEEKUSR, tid, debugStatus, unsafe.Pointer(&note))
	return note &^ noteUnused, err
}

// SetNote makes a note about a stopped thread. The note stays when the thread is detached.
func SetNote(tid int, note uint64) error {
	return call(unix.PTRACE_POKEUSR, tid, debugStatus, uintptr(note&^noteUnused|noteIdle))
}
