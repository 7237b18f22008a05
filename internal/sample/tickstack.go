package sample

import (
	"ptools/internal/intern"
	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// tickImage is what the stack of a tick is unwound by.
type tickImage interface {
	// Unwind is that of Image.
	Unwind(s *source.Capture, dst []profile.Addr) ([]profile.Addr, unwind.End)
	// syscall returns the number of the system call that a thread in the kernel has made, by the
	// program counter that it will return to. It returns -1 for a thread that is in the kernel by an
	// interrupt or a fault.
	syscall(s *source.Capture) int64
	// note returns the level that stands for a system call.
	note(nr int64) profile.Addr
}

// unwindTick appends the levels of a tick. It sets all of snap but snap.Late.
func (s *Sampler) unwindTick(r *perfevent.Record, snap *source.Capture, image tickImage, levels []profile.Addr) ([]profile.Addr, unwind.End) {
	for _, addr := range r.KernelChain {
		levels = append(levels, s.kernelNote(addr))
	}
	return unwindUser(&s.cost, r, snap, image, levels)
}

// tickStack is what the stack of one tick after the other is taken from.
type tickStack struct {
	snap     source.Capture
	levels   []profile.Addr
	outlying outlying
}

// unwindUser is unwindTick without the levels in the kernel.
func unwindUser(cost *Cost, r *perfevent.Record, snap *source.Capture, image tickImage, levels []profile.Addr) ([]profile.Addr, unwind.End) {
	if r.Is32Bit { // its calls have other numbers, and its signal handlers other frames
		snap.Regs.SetSampled32(&r.Regs)
	} else {
		snap.Regs.SetSampled(&r.Regs)
	}
	snap.PC, snap.SP = snap.Regs.PC(), snap.Regs.SP()
	snap.Base, snap.Stack, snap.Partial, snap.Chain, snap.Pages = snap.SP, r.Stack, false, r.Chain, r.Pages
	if r.Is32Bit {
		return unwindCopy(cost, snap, image, levels)
	}
	interrupted(snap)
	if r.InKernel {
		if nr := image.syscall(snap); nr >= 0 {
			snap.Regs.SetSyscall(nr)
			levels = append(levels, image.note(nr))
		}
	}
	return unwindCopy(cost, snap, image, levels)
}

// unwindCopy appends the levels in user code of a thread that runs on.
func unwindCopy(cost *Cost, snap *source.Capture, image tickImage, levels []profile.Addr) ([]profile.Addr, unwind.End) {
	levels, end := image.Unwind(snap, levels)
	levels, end = cutBeyond(cost, snap, levels, end)
	cost.Ends[end]++
	return levels, end
}

// cutBeyond leaves out the levels that Unwind has found by memory of the present moment. The thread has run since the capture,
// and its stack may be that of another call by now, which leads to the end of the stack just as well.
func cutBeyond(cost *Cost, s *source.Capture, levels []profile.Addr, end unwind.End) ([]profile.Addr, unwind.End) {
	if !s.Strayed || s.Beyond == 0 && end == unwind.Whole {
		return levels, end
	}
	cost.Cut++
	if s.Beyond > 0 {
		end = unwind.Unreadable
	}
	return levels[:len(levels)-s.Beyond], end
}

// syscallBefore returns the system call of the instruction before the program counter, -1 for none. It keeps the answers
// in calls.
func syscallBefore(image source.Image, calls map[uint64]int64, s *source.Capture) int64 {
	if _, known := calls[s.PC]; !known && s.Late {
		return -1
	}
	return intern.Value(calls, s.PC, func() int64 {
		return callIn(func(code []byte) bool { return image.ReadStack(code, s.PC-ptrace.SyscallCode) == len(code) })
	})
}

// callIn returns the system call that the code which read fills in makes, or -1.
func callIn(read func(code []byte) bool) int64 {
	var code [ptrace.SyscallCode]byte
	if read(code[:]) {
		if nr, ok := ptrace.SyscallBefore(&code); ok {
			return nr
		}
	}
	return -1
}

// interrupted handles a thread that the kernel is sending, or has just sent, into the handler
// of a signal. It sets the registers to those where the signal met the thread, as a stop there
// would show.
func interrupted(s *source.Capture) {
	for addr, ok := s.Regs.HandlerContext(); ok; addr, ok = s.Regs.HandlerContext() {
		off := addr - s.Base
		if off >= uint64(len(s.Stack)) || uint64(len(s.Stack))-off < ptrace.ContextSize {
			return
		}
		s.Regs.SetContext((*[ptrace.ContextSize]byte)(s.Stack[off:]))
		s.Chain = nil // it begins with a frame pointer that is no longer the thread's
		s.PC, s.SP = s.Regs.PC(), s.Regs.SP()
	}
}
