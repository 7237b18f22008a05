package ptrace

import (
	"cmp"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/machine"
	"ptools/internal/ptest"
)

// rule returns the rule for a trap at addr. long: it replaces a longer instruction, so only a thread that
// has executed the int3 can be behind it.
func rule(addr uint64, long bool) SetBack {
	r := SetBack{After: addr + machine.TrapBehind, To: addr}
	if !long {
		r.Code = trapCode
	}
	return r
}

// TestPeekWaitBack: a thread that has executed a trap of the list is set back in front of it, and its wait
// status is consumed. Nothing is done about a SIGTRAP for any other reason.
func TestPeekWaitBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules func(pc uint64) []SetBack
		block bool
		back  bool
		sent  bool // the SIGTRAP was sent
	}{
		{"short", func(pc uint64) []SetBack { return []SetBack{rule(pc-9, false), rule(pc, false), rule(pc+7, true)} }, true, true, false},
		{"long", func(pc uint64) []SetBack { return []SetBack{rule(pc-1, false), rule(pc, true), rule(pc+1, true)} }, true, true, false},
		{"polled", func(pc uint64) []SetBack { return []SetBack{rule(pc, true)} }, false, true, false},
		{"not of the list", func(pc uint64) []SetBack { return []SetBack{rule(pc-1, true), rule(pc+1, true)} }, true, false, false},
		{"no list", func(uint64) []SetBack { return nil }, true, false, false},
		{"sent", func(pc uint64) []SetBack { return []SetBack{rule(pc-restartedAt-machine.TrapBehind, false)} }, true, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := startCat(t)
			x := newTracer(t)
			x.seize(g.PID, 0)
			awaitCall(g, g.PID, unix.SYS_READ)
			x.halt(g.PID)
			pc := x.regs(g.PID).PC() + restartedAt // behind the system call, where it returns
			var old string
			if !tt.sent {
				old = poke(t, g, pc, machine.Trap)
			}
			x.must(Cont(g.PID, 0))
			if tt.sent {
				awaitCall(g, g.PID, unix.SYS_READ)
				g.Signal(syscall.SIGTRAP)
			} else {
				say(t, g)
			}
			s, backs := x.peekBack(tt.rules(pc), tt.block)
			want, n := Stop{TID: g.PID, Kind: KindSignal, Signal: syscall.SIGTRAP}, 0
			if tt.back {
				want, n = Stop{}, 1
			}
			if s != want || len(backs) != n {
				t.Fatalf("%+v and %d set back, want %+v and %d", s, len(backs), want, n)
			}
			at := pc
			if !tt.back && !tt.sent {
				at += machine.TrapBehind
			}
			if tt.sent {
				at -= restartedAt
			}
			now := x.regs(g.PID)
			if now.PC() != at {
				t.Errorf("it stands at %#x, want %#x", now.PC(), at)
			}
			if tt.back {
				if backs[0] != (Back{g.PID, pc + machine.TrapBehind, *now}) {
					t.Errorf("%+v, want %d with %+v", backs[0], g.PID, *now)
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

// peekBack waits for a wait status.
func (x *tracer) peekBack(rules []SetBack, block bool) (Stop, []Back) {
	x.t.Helper()
	alarm := time.AfterFunc(ptest.Patience, func() { x.bell.Ring() })
	defer alarm.Stop()
	backs := make([]Back, 2)
	s, n, err := PeekWaitBack(rules, backs, block)
	for err == nil && n == 0 && s.Kind == KindNone && !block {
		runtime.Gosched()
		s, n, err = PeekWaitBack(rules, backs, block)
	}
	x.must(err)
	return s, backs[:n]
}

// TestPeekWaitBackAll: all threads that have stopped are set back, as many as there is room for.
func TestPeekWaitBackAll(t *testing.T) {
	const n = 3
	var gs [n]*ptest.Target
	for i := range gs {
		gs[i] = startCat(t)
	}
	x := newTracer(t)
	var rules []SetBack
	var olds [n]string
	for i, g := range gs {
		x.seize(g.PID, 0)
		awaitCall(g, g.PID, unix.SYS_READ)
		x.halt(g.PID)
		pc := x.regs(g.PID).PC() + restartedAt
		rules = append(rules, rule(pc, true))
		olds[i] = poke(t, g, pc, machine.Trap)
	}
	for _, g := range gs {
		x.must(Cont(g.PID, 0))
		say(t, g)
		awaitStopped(g, g.PID)
	}
	pcs := slices.Clone(rules)
	slices.SortFunc(rules, func(a, b SetBack) int { return cmp.Compare(a.After, b.After) })
	backs := make([]Back, n-1)
	seen := map[int]uint64{}
	for _, want := range []int{n - 1, 1, 0} {
		_, got, err := PeekWaitBack(rules, backs, false)
		if got != want || err != nil {
			t.Fatalf("%d are set back, %v: want %d", got, err, want)
		}
		for _, b := range backs[:got] {
			seen[b.TID] = b.Regs.PC()
		}
	}
	x.nothing()
	for i, g := range gs {
		if seen[g.PID] != pcs[i].To {
			t.Errorf("%d stands at %#x, want %#x", g.PID, seen[g.PID], pcs[i].To)
		}
		poke(t, g, pcs[i].To, olds[i])
		x.must(Cont(g.PID, 0))
		if got := g.Line(); got != "hello" {
			t.Errorf("cat answers %q", got)
		}
	}
}
