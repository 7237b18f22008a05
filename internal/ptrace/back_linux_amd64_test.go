package ptrace

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestPeekWaitBack: a thread that has executed an int3 of the list stands in front of it, and its
// report has been read; whatever else a SIGTRAP is for, nothing is done.
func TestPeekWaitBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		int3s func(pc uint64) []Int3
		block bool
		back  bool
		sent  bool // the SIGTRAP is somebody's
	}{
		{"short", func(pc uint64) []Int3 { return []Int3{{pc - 9, false}, {pc, false}, {pc + 7, true}} }, true, true, false},
		{"long", func(pc uint64) []Int3 { return []Int3{{pc - 1, false}, {pc, true}, {pc + 1, true}} }, true, true, false},
		{"polled", func(pc uint64) []Int3 { return []Int3{{pc, true}} }, false, true, false},
		{"not of the list", func(pc uint64) []Int3 { return []Int3{{pc - 1, true}, {pc + 1, true}} }, true, false, false},
		{"no list", func(uint64) []Int3 { return nil }, true, false, false},
		{"sent", func(pc uint64) []Int3 { return []Int3{{pc - 1, false}} }, true, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := startCat(t)
			x := newTracer(t)
			x.seize(g.PID, 0)
			awaitCall(g, g.PID, unix.SYS_READ)
			x.halt(g.PID)
			pc := x.regs(g.PID).PC() // behind the system call, where it returns
			var old byte
			if !tt.sent {
				old = poke(t, g, pc, 0xcc)
			}
			x.must(Cont(g.PID, 0))
			if tt.sent {
				g.Signal(syscall.SIGTRAP)
			} else {
				say(t, g)
			}
			s, r := x.peekBack(tt.int3s(pc), tt.block)
			if want := (Stop{TID: g.PID, Kind: KindSignal, Signal: syscall.SIGTRAP, Back: tt.back}); s != want {
				t.Errorf("%+v, want %+v", s, want)
			}
			at := pc
			if !tt.back && !tt.sent {
				at++
			}
			now := x.regs(g.PID)
			if now.PC() != at {
				t.Errorf("it stands at %#x, want %#x", now.PC(), at)
			}
			if tt.back {
				if *now != r {
					t.Errorf("registers %+v, want %+v", r, *now)
				}
				x.nothing()
			} else {
				x.want(g.PID, KindSignal, syscall.SIGTRAP)
			}
			if !tt.sent {
				poke(t, g, pc, old)
				now.SetPC(pc)
				x.must(SetRegs(g.PID, now))
			}
			x.must(Cont(g.PID, 0))
			if tt.sent {
				say(t, g)
			}
			if got := g.Line(); got != "hello" {
				t.Errorf("cat answers %q", got)
			}
		})
	}
}

// peekBack waits for a report.
func (x *tracer) peekBack(int3s []Int3, block bool) (Stop, Regs) {
	x.t.Helper()
	alarm := time.AfterFunc(ptest.Patience, func() { x.bell.Ring() })
	defer alarm.Stop()
	var r Regs
	s, err := PeekWaitBack(int3s, &r, block)
	for err == nil && s.Kind == KindNone && !block {
		runtime.Gosched()
		s, err = PeekWaitBack(int3s, &r, block)
	}
	x.must(err)
	return s, r
}
