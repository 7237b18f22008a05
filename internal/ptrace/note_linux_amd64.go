package ptrace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread's debug status register (DR6) is a word of the kernel's that only tracers see. It
// is written by them and at a debug exception of the thread, and read when the next tracer
// asks. So it keeps a note about a stopped thread, from one tracer to the next. The bits that
// the processor sets are left as they are without an exception: some debuggers look at them.
const (
	debugStatus = 848 + 6*8 // offset of u_debugreg[6] in struct user
	noteUnused  = 0xffff
	noteIdle    = 0x0ff0
)

// Note returns the note about a stopped thread: the lower 16 bits are 0.
func Note(tid int) (note uint64, err error) {
	// The system call stores the word where the C library would return it.
	err = exchange(unix.PTRACE_PEEKUSR, tid, debugStatus, unsafe.Pointer(&note))
	return note &^ noteUnused, err
}

// SetNote makes a note about a stopped thread. It stays when the thread is let go.
func SetNote(tid int, note uint64) error {
	return call(unix.PTRACE_POKEUSR, tid, debugStatus, uintptr(note&^noteUnused|noteIdle))
}
