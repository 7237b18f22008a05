package calls

import (
	"io"
	"slices"
	"time"

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
	refresh  time.Time // what is mapped is not looked at again before
}

// unwind returns the program counters of a call, which are valid until it is called again, and why they are not all. What memory
// says now, beyond the copied stack, may be of another call.
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
	again := false
	for {
		s.frames, end = s.unwinder.Unwind(regs, unwind.Stack{Base: regs.SP(), Data: r.Stack, Mem: memory}, s.frames[:0])
		mapped := !slices.ContainsFunc(s.frames, func(f unwind.Frame) bool { return !w.space.Knows(f.PC) })
		if mapped || again || time.Now().Before(s.refresh) {
			if beyond := s.unwinder.Beyond(); beyond > 0 {
				return s.frames[:len(s.frames)-beyond], unwind.Unreadable
			}
			return s.frames, end
		}
		began := time.Now()
		again = w.space.Refresh() == nil
		s.refresh = time.Now().Add(max(leastLook, lookShare*time.Since(began)))
	}
}

// symbolize appends the functions at a program counter.
func (s *Selection) symbolize(f *unwind.Frame, dst []Frame) []Frame {
	if ahead, ok := s.Ahead(f.PC); ok {
		return append(dst, ahead)
	}
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
		if i == 0 && !w.space.Knows(pcs[0].PC) {
			if f, ok := w.numbered[r.Function].innermost(w.Selection, pcs[0].PC); ok {
				frames = append(frames, f)
				continue
			}
		}
		frames = w.symbolize(&pcs[i], frames)
	}
	if end != unwind.Whole {
		cut = end.String()
	}
	return frames, cut
}
