package perfevent

import (
	"bytes"

	"ptools/internal/ptrace"
)

// TaskRecord has what the kernel knows of one thread, at one moment.
type TaskRecord struct {
	TID  int
	name [16]byte
	// State is that of proc(5): R, S, D, T or t. A thread that is about to sleep, but is still on a processor, has R.
	State byte
	// OnCPU says that the thread was on a processor. A thread with state R that was not waits for a processor; its Regs
	// are valid as well.
	OnCPU bool
	// Run, Wait and Slices are those of schedstat: nanoseconds on a processor, nanoseconds waiting for one, and how
	// often the thread was put on one.
	Run, Wait, Slices uint64
	// Start is when the thread was made, in nanoseconds since boot. TID and Start together identify the thread.
	Start uint64
	// Regs are the registers with which the thread continues in user mode, if State is not R. They lack the bases
	// and selectors of segments that the kernel does not save when it is entered.
	Regs ptrace.Regs
}

// Name returns the thread's name.
func (r *TaskRecord) Name() string {
	name, _, _ := bytes.Cut(r.name[:], []byte{0})
	return string(name)
}
