package control

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestProbesOfChildren: children that are forked, or share the memory, run over the traps of uprobes in their text,
// unharmed and uncounted. They do so also when the parent has been released.
func TestProbesOfChildren(t *testing.T) {
	needUprobes(t)
	for _, s := range storms {
		if s.name != "fork" && s.name != "vfork" && s.name != "spawn" && s.name != "clonevm" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			want, state := s.start(t).Finish()
			if !state.Success() {
				t.Fatalf("alone: %v, %s", state, want)
			}
			g := s.start(t)
			for range ptest.Rounds(3, 10, 100) {
				c, err := Attach(bg, g.PID, &Options{Linker: true})
				if err != nil {
					break // it has ended
				}
				for _, name := range hot {
					if _, err := c.BreakSymbol(bg, "", name, 0, func(*Hit) {}); err != nil && !errors.Is(err, ErrEnded) {
						t.Error(err)
					}
				}
				for range 20 {
					disturb(c)
				}
				release(t, c, ModeRun)
			}
			if got, state := g.Finish(); !state.Success() || got != want {
				t.Errorf("%v: printed\n%swant\n%s", state, got, want)
			}
		})
	}
}

// TestCountingOfBlocked: a thread blocks the signals of uprobes. A breakpoint without a handler is still counted by
// the kernel. One with a handler is an int3.
func TestCountingOfBlocked(t *testing.T) {
	needX86(t)
	needUprobes(t)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "wary.c"), "-k", "masked")
	g.Ready()
	c := attach(t, g.PID, nil)
	set := func(h Handler) (*SymbolBreak, bool) {
		b, err := c.BreakSymbol(bg, "", "hot", 0, h)
		if err != nil || len(b.Addrs()) != 1 {
			t.Fatal(b, err)
		}
		counted := false
		if err := c.Do(bg, func() { counted = c.traps.probes.counts(c.traps.table.At(b.Addrs()[0])) }); err != nil {
			t.Fatal(err)
		}
		return b, counted
	}
	b, counted := set(nil)
	fmt.Fprintln(g.Stdin)
	g.Line()
	if n := b.Hits(); n == 0 || !counted {
		t.Errorf("%d hits, by the kernel: %t", n, counted)
	}
	var stopped atomic.Uint64
	h, counted := set(func(*Hit) { stopped.Add(1) })
	if counted {
		t.Error("threads are not stopped")
	}
	fmt.Fprintln(g.Stdin)
	g.Line()
	if n := h.Hits(); n == 0 || stopped.Load() != n {
		t.Errorf("%d hits, %d of which stopped", n, stopped.Load())
	}
	release(t, c, ModeRun)
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("%v: %s", state, out)
	}
}

// TestHitsAfterCounting: the number of hits in events continues from where the kernel's count has ended.
func TestHitsAfterCounting(t *testing.T) {
	needX86(t)
	needUprobes(t)
	bus := notify.NewBus()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "wary.c"), "-k", "masked")
	g.Ready()
	c := attach(t, g.PID, &Options{Bus: bus})
	b, err := c.BreakSymbol(bg, "", "hot", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(g.Stdin)
	g.Line()
	counted := b.Hits()
	events := bus.Subscribe(notify.Hit)
	defer events.Close()
	if err := c.Do(bg, c.FollowHits); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(g.Stdin)
	if e := await(t, events, notify.Hit); counted == 0 || e.Hits != counted+1 {
		t.Errorf("the first hit that is told of is number %d, after %d", e.Hits, counted)
	}
	g.Line()
}

// TestCounting: the kernel counts the hits of a breakpoint without a handler, for each owner from when it came to
// when it went. The breakpoint stops threads as soon as one owner has a handler.
func TestCounting(t *testing.T) {
	needX86(t)
	needUprobes(t)
	const n = 3000
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}}, ptest.BuildC(t, "calls.c"), "-t", "3", "-f", "push", "-n", strconv.Itoa(n))
	set := func(h Handler) *SymbolBreak {
		b, err := c.BreakSymbol(bg, "", "f_push", 0, h)
		if err != nil || len(b.Addrs()) != 1 {
			t.Fatal(b, err)
		}
		return b
	}
	first, second := set(nil), set(nil)
	if c.traps.probes.total.Len() != 1 || c.traps.probes.stop.Len() != 1 { // the latter is the linker's
		t.Errorf("%d probes count and %d stop, want 1 and 1", c.traps.probes.total.Len(), c.traps.probes.stop.Len())
	}
	if err := second.Remove(bg); err != nil {
		t.Fatal(err)
	}
	seen := 0
	if err := c.Do(bg, func() {
		b, err := c.Break(bg, first.Addrs()[0], func(*Hit) { seen++ })
		if err != nil || !c.traps.probes.stop.Has(b.bp) {
			t.Error("threads are not stopped", err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	finish(t, c, out)
	if first.Hits() != n || second.Hits() != 0 || seen != n {
		t.Errorf("hits %d and %d, handled %d; want %d, 0, %d", first.Hits(), second.Hits(), seen, n, n)
	}
}

// TestArrivalRegisters: the handler of a uprobe sees the registers from before the
// instruction, and what it changes counts.
func TestArrivalRegisters(t *testing.T) {
	needX86(t)
	needUprobes(t)
	const n = 1000
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: TrapUprobe}, ptest.BuildC(t, "calls.c"), "-t", "2", "-f", "push", "-n", strconv.Itoa(n))
	hits := 0
	b, err := c.BreakSymbol(bg, "", "f_push", 0, func(h *Hit) {
		if hits++; h.Regs().PC() != h.Addr() || !h.Executed() || h.Late() {
			t.Errorf("at %#x, executed %t, late %t", h.Regs().PC(), h.Executed(), h.Late())
		}
		// The result is made from the argument. The instruction is executed once more, with what the handler has set.
		r := *h.Regs()
		h.SetRegs(&r)
	})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, c, out) // checks the result of each call
	if hits != n || b.Hits() != n {
		t.Errorf("%d handled, %d hits of %d", hits, b.Hits(), n)
	}
}

// TestNoUprobe: where uprobes are demanded and there can be none, the error says why.
func TestNoUprobe(t *testing.T) {
	needX86(t)
	needUprobes(t)
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: TrapUprobe}, ptest.BuildC(t, "calls.c"), "-f", "cpuid", "-n", "10")
	if _, err := c.BreakSymbol(bg, "", "f_cpuid", 0, nil); !errors.Is(err, ErrNoUprobe) || !errors.Is(err, errNotProbeable) {
		t.Errorf("cpuid: %v", err)
	}
	if n := c.traps.table.Len(); n != 1 { // the linker's
		t.Errorf("%d breakpoints", n)
	}
	finish(t, c, out)
}

// TestProbesOfNewborns: a thread is born and ends with a mask that blocks everything for a moment. Such masks do not
// prevent uprobes.
func TestProbesOfNewborns(t *testing.T) {
	needUprobes(t)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "threadstorm.c"), "-t", "4", "-n", "20000")
	for range ptest.Rounds(5, 20, 200) {
		c, err := Attach(bg, g.PID, &Options{Trap: TrapUprobe})
		if err != nil {
			if !gone(g.PID) {
				t.Errorf("attach: %v", err)
			}
			break
		}
		release(t, c, ModeRun)
	}
	g.Kill()
}

// TestBreakWithoutLeader: a uprobe still stops threads when the first thread has ended. The kernel plants no new ones
// after that, because it asks which memory the first thread has. So int3s are taken. Perf events of uprobes get no hits any
// more, and the breakpoint ends (doc/limits.md).
func TestBreakWithoutLeader(t *testing.T) {
	needX86(t)
	needUprobes(t)
	const threads = 3
	rounds := ptest.Rounds(300, 2000, 20000)
	hits := 0
	check := func(t *testing.T, c *Controller, want int) {
		t.Helper()
		<-c.Done()
		if hits != want {
			t.Errorf("%d hits, want %d", hits, want)
		}
	}
	t.Run("ends later", func(t *testing.T) {
		if perfevent.EndWithThread() {
			endsWithFirst(t)
			return
		}
		hits = 0
		c, _ := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: TrapUprobe}, ptest.BuildC(t, "leaderdead.c"), "-t", fmt.Sprint(threads), "-n", fmt.Sprint(rounds))
		if _, err := c.BreakSymbol(bg, "", "work_on", 0, func(*Hit) { hits++ }); err != nil {
			t.Fatal(err)
		}
		if err := c.Continue(bg); err != nil {
			t.Fatal(err)
		}
		check(t, c, threads*rounds)
	})
	t.Run("int3s leave", func(t *testing.T) { // also where the kernel lets only the tracer of a thread write that has the memory
		c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: TrapInt3}, ptest.BuildC(t, "leaderdead.c"), "-t", fmt.Sprint(threads), "-n", "20000")
		hit := make(chan struct{}, 1)
		b, err := c.BreakSymbol(bg, "", "work_on", 0, func(*Hit) {
			if st, err := procfs.ReadStat(c.PID()); err == nil && st.State == 'Z' {
				select {
				case hit <- struct{}{}:
				default:
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Continue(bg); err != nil {
			t.Fatal(err)
		}
		<-hit
		if err := c.Pause(bg, func(s *Stopped) error {
			for _, th := range s.Threads() {
				if th.TID() != c.PID() && ptest.HasTraps(th.TID()) {
					t.Error("traps are in the text")
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(bg); err != nil {
			t.Fatal(err)
		}
		if <-c.Done(); !strings.Contains(<-out, "done") {
			t.Error("the program has not ended by itself")
		}
	})
	t.Run("has ended", func(t *testing.T) {
		hits = 0
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "leaderdead.c"), "-t", fmt.Sprint(threads))
		g.Ready()
		c := attach(t, g.PID, nil)
		b, err := c.BreakSymbol(bg, "", "work_on", 0, func(*Hit) { hits++ })
		if err != nil {
			t.Fatal(err)
		}
		if e := c.KillRisk(); !e.Int3s || !errors.Is(e.NoUprobe, errNotPlanted) && !errors.Is(e.NoUprobe, perfevent.ErrThreadEnded) {
			t.Errorf("%+v", e)
		}
		g.WaitFor("hits", func() bool { return b.Hits() >= uint64(rounds) })
		g.Stdin.Close()
		<-c.Done()
		if _, state := g.Finish(); !state.Success() || uint64(hits) != b.Hits() {
			t.Errorf("ended with %v, %d hits handled of %d", state, hits, b.Hits())
		}
	})
}

// endsWithFirst: a breakpoint whose uprobe gets no hits any more ends with an event, which has the hits until then. One that is
// set later is an int3.
func endsWithFirst(t *testing.T) {
	for _, h := range []Handler{nil, func(*Hit) {}} {
		bus := notify.NewBus()
		events := bus.Subscribe(notify.BreakEnd)
		defer events.Close()
		c, _ := run(t, &Options{Stop: []notify.Point{notify.Create}, Bus: bus}, ptest.BuildC(t, "leaderdead.c"), "-t", "3", "-n", "1000000000")
		b, err := c.BreakSymbol(bg, "", "work_on", 0, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Continue(bg); err != nil {
			t.Fatal(err)
		}
		if e := await(t, events, notify.BreakEnd); e.Err != errFirstEnded || e.Symbol != "work_on" || e.Hits != b.Hits() || len(b.Addrs()) != 0 {
			t.Errorf("%+v, %d hits, at %#x", e, b.Hits(), b.Addrs())
		}
		hit := make(chan struct{}, 1)
		if _, err := c.BreakSymbol(bg, "", "work_on", 0, func(*Hit) {
			select {
			case hit <- struct{}{}:
			default:
			}
		}); err != nil {
			t.Fatal(err)
		}
		<-hit
		if !c.KillRisk().Int3s {
			t.Error("not an int3")
		}
		release(t, c, ModeKill)
	}
}
