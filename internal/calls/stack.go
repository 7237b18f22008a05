package calls

import (
	"io"

	"ptools/internal/perfevent"
	"ptools/internal/ptrace"
	"ptools/internal/unwind"
	"ptools/internal/x86"
	"ptools/pctl/handle"
)

// A Frame is a function on the stack of a call, the innermost first. One that was inlined precedes that which it was inlined into.
type Frame = handle.Frame

// stacks unwinds copies of stacks.
type stacks struct {
	unwinder *unwind.Unwinder
	frames   []unwind.Frame
}

// registers returns the registers that were read at the end of a call.
func registers(v *perfevent.CallValues) *ptrace.Regs {
	w := &v.Result
	return &ptrace.Regs{Regs: x86.Regs{
		R15: w[0], R14: w[1], R13: w[2], R12: w[3], Rbp: w[4], Rbx: w[5], R11: w[6], R10: w[7], R9: w[8], R8: w[9],
		Rax: w[10], Rcx: w[11], Rdx: w[12], Rsi: w[13], Rdi: w[14],
		OrigRax: ^uint64(0), Rip: w[perfevent.ResultIP], Rsp: w[perfevent.ResultSP],
	}}
}

// stack returns the frames of a call, and why they are not all.
func (w *Watch) stack(v *perfevent.CallValues, copied []byte) (frames []Frame, cut string) {
	if w.stacks == nil {
		w.stacks = &stacks{unwinder: unwind.New(w.space)}
	}
	s := w.stacks
	regs := registers(v)
	var end unwind.End
	memory, _ := w.memory.(io.ReaderAt)
	s.frames, end = s.unwinder.Unwind(regs, unwind.Stack{Base: regs.Rsp, Data: copied, Mem: memory}, s.frames[:0])
	for _, f := range s.frames {
		how := handle.Lines
		if f.Return {
			how |= handle.Return
		}
		if f.Signal {
			how |= handle.Trampoline
		}
		frames = w.space.Symbolize(f.PC, how, frames)
	}
	if end != unwind.Whole {
		cut = end.String()
	}
	return frames, cut
}
