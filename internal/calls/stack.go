package calls

import (
	"io"

	"ptools/internal/perfevent"
	"ptools/internal/unwind"
	"ptools/pctl/handle"
)

// A Frame is a function on the stack of a call, the innermost first. One that was inlined precedes that which it was inlined into.
type Frame = handle.Frame

// stacks unwinds copies of stacks.
type stacks struct {
	unwinder *unwind.Unwinder
	frames   []unwind.Frame
}

// unwind returns the program counters of a call, which are valid until it is called again, and why they are not all.
func (w *Watch) unwind(r *perfevent.CallReport) ([]unwind.Frame, unwind.End) {
	if w.stacks == nil {
		w.stacks = &stacks{unwinder: unwind.New(w.space)}
	}
	s := w.stacks
	regs := r.Values.Registers()
	var end unwind.End
	memory, _ := w.memory.(io.ReaderAt)
	if r.PID != 0 && r.PID != w.PID {
		memory = nil // a child has what is mapped, but stacks of its own
	}
	s.frames, end = s.unwinder.Unwind(regs, unwind.Stack{Base: regs.SP(), Data: r.Stack, Mem: memory}, s.frames[:0])
	return s.frames, end
}

// symbolize appends the functions at a program counter.
func (s *Selection) symbolize(f *unwind.Frame, dst []Frame) []Frame {
	how := handle.Lines
	if f.Return {
		how |= handle.Return
	}
	if f.Signal {
		how |= handle.Trampoline
	}
	return s.space.Symbolize(f.PC, how, dst)
}

// stack returns the frames of a call, and why they are not all.
func (w *Watch) stack(r *perfevent.CallReport) (frames []Frame, cut string) {
	pcs, end := w.unwind(r)
	for i := range pcs {
		frames = w.symbolize(&pcs[i], frames)
	}
	if end != unwind.Whole {
		cut = end.String()
	}
	return frames, cut
}
