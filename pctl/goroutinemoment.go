package pctl

import (
	"context"

	"ptools/internal/goroutines"
	"ptools/internal/unwind"
)

// Goroutines returns the goroutines of a Go program as they are at this moment. One that runs has the stack that the registers of
// its thread lead to. It has none if its thread is just about to leave it, or to begin with it, or cannot be stopped. The process
// stands still meanwhile: for some ten milliseconds with a thousand goroutines. The errors are those of Process.Goroutines.
func (s *Snapshot) Goroutines(ctx context.Context) ([]*Goroutine, error) {
	if s.stopped == nil {
		return nil, s.fail("goroutines", 0, ErrResumed)
	}
	var all []*Goroutine
	_, err := readGoroutines(ctx, s.p, s.runs, func(g *Goroutine, _ error) bool {
		all = append(all, g)
		return true
	})
	if err != nil {
		return all, s.p.fail("goroutines", err)
	}
	return all, nil
}

// runs returns the stack of a goroutine that a thread runs: the part of the thread's that lies on the goroutine's own stack, without
// the frames on the stack of the scheduler, or of a signal handler, that the thread may be on above that.
func (s *Snapshot) runs(tid int, g *goroutines.G) *goroutines.Stack {
	t := s.Thread(tid)
	if t == nil || t.State == Unstoppable {
		return nil
	}
	frames, end := s.p.walk.unwound(t)
	own := frames[:0]
	for _, f := range frames {
		if g.Low <= f.SP && f.SP < g.High {
			f.SP = 0
			own = append(own, f)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return &goroutines.Stack{Frames: own, End: end}
}

// unwound returns the frames of a thread that stands still.
func (w *walker) unwound(t *Thread) ([]unwind.Frame, unwind.End) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := w.unwind(t)
	return append([]unwind.Frame(nil), w.frames...), end
}
