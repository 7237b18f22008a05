package control

import (
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
)

// TestHandlerThatWaits: what the handler of a uprobe's hit sees of the thread, and changes of it, is the same before and after
// a request for which all threads are stopped.
func TestHandlerThatWaits(t *testing.T) {
	needUprobes(t)
	files := elfsym.NewCache(keptFiles)
	t.Cleanup(files.Close)
	w := startWalker(t, &Options{Trap: TrapAuto, Files: files})
	ring, signals := w.at("ring"), w.at("signals")
	const mark = 0x5a5a5a5a
	hits, done := 0, make(chan struct{})
	var changed ptrace.Regs
	b, err := w.c.Break(bg, ring, func(h *Hit) {
		switch hits++; hits {
		case 1:
			before := *h.Regs()
			if h.Late() || before.PC() != ring {
				t.Errorf("late: %v, at %#x", h.Late(), before.PC())
			}
			if _, err := h.WriteAt(make([]byte, 8), int64(signals)); err != nil {
				t.Error(err)
			}
			if s := h.t.M.State(); s != tracee.StateStopped {
				t.Errorf("the thread is %v", s)
			}
			if h.Late() || *h.Regs() != before {
				t.Errorf("late: %v, registers are %+v, were %+v", h.Late(), *h.Regs(), before)
			}
			changed = *h.After()
			changed.Regs.R15 = mark
			h.SetRegs(&changed)
		case 2:
			if h.Regs().Regs.R15 != mark {
				t.Error("the registers that it has set are lost")
			}
			close(done)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	b.Remove(bg)
	w.finish()
}
