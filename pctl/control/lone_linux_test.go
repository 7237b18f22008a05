package control

import (
	"context"
	"encoding/binary"
	"errors"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// walker is the process of lone.c, under control.
type walker struct {
	*testing.T
	g    *ptest.Target
	c    *Controller
	lone *Lone
}

func startWalker(t *testing.T, o *Options) *walker {
	t.Helper()
	needX86(t)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "testdata/lone.c", "-no-pie"))
	g.Ready()
	return &walker{T: t, g: g, c: attach(t, g.PID, o)}
}

// at returns the address of a symbol.
func (w *walker) at(symbol string) uint64 {
	w.Helper()
	for _, s := range w.c.Space().ByName("", symbol) {
		return s.Addr
	}
	w.Fatalf("no symbol %s", symbol)
	return 0
}

// count reads a counter of the program.
func (w *walker) count(symbol string) uint64 {
	w.Helper()
	var b [8]byte
	if _, err := w.c.ReadAt(b[:], int64(w.at(symbol))); err != nil {
		w.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// stop stops the walking thread, and step has it make one step; both return its program counter.
func (w *walker) stop() (pc uint64) {
	w.Helper()
	lone, err := w.c.StopThread(bg, w.g.PID, func(r *ptrace.Regs) { pc = r.PC() })
	if err != nil {
		w.Fatal(err)
	}
	w.lone = lone
	return pc
}

func (w *walker) step() (pc uint64) {
	w.Helper()
	if err := w.lone.Step(bg, func(r *ptrace.Regs) { pc = r.PC() }); err != nil {
		w.Fatal(err)
	}
	return pc
}

func (w *walker) run() {
	w.Helper()
	if err := w.lone.Run(bg); err != nil {
		w.Fatal(err)
	}
}

// round steps through one whole round of the ring. It returns how often the thread was stopped at each address.
func (w *walker) round() map[uint64]int {
	w.Helper()
	start, end := w.at("ring"), w.at("ring_end")
	for n := 0; w.step() != start; n++ {
		if n > 10_000 {
			w.Fatal("the ring does not come")
		}
	}
	seen := map[uint64]int{start: 1}
	for pc := w.step(); ; pc = w.step() {
		seen[pc]++
		if pc == end {
			return seen
		}
		if len(seen) > 100 {
			w.Fatalf("not in the ring: %#x", pc)
		}
	}
}

// wholeRound steps through a round, in which each instruction is one step, and the repeated one eight.
func (w *walker) wholeRound() {
	w.Helper()
	seen := w.round()
	if n := seen[w.at("ring_copy")]; n != 8 || len(seen) != 11 {
		w.Errorf("%d steps at the copy, %d places: %#x", n, len(seen), seen)
	}
}

// finish releases the target and has it check its counts.
func (w *walker) finish() {
	w.Helper()
	release(w.T, w.c, ModeRun)
	w.g.Stdin.Close()
	if s := w.g.Wait(); s.ExitCode() != 0 {
		w.Errorf("it ended with %v", s)
	}
}

// TestLoneThread: one thread is stopped by itself while the others run. It makes step after step, one for each turn
// of a repeated instruction. It also steps over breakpoints, each of which is reported once. Then it runs on.
func TestLoneThread(t *testing.T) {
	eachTrap(t, func(t *testing.T, trap Trap) {
		w := startWalker(t, &Options{Trap: trap})
		w.stop()
		rounds, others := w.count("rounds"), w.count("others")
		for w.count("others") == others { // they run
		}
		if n := w.count("rounds"); n != rounds {
			t.Fatalf("it walked from %d to %d", rounds, n)
		}
		w.wholeRound()
		w.run()
		for _, name := range []string{"ring", "ring_inc", "ring_copy", "ring_call", "ring_end"} {
			hits := 0
			b, err := w.c.BreakSymbol(bg, "", name, 0, func(*Hit) { hits++ })
			if err != nil || len(b.Addrs()) != 1 {
				t.Fatalf("%s: %v", name, err)
			}
			w.stop()
			w.round()
			w.c.Do(bg, func() { hits = 0 })
			for range 3 {
				w.round()
			}
			var got int
			w.c.Do(bg, func() { got = hits })
			if trap == TrapUprobe && name == "ring_end" {
				got++ // its hit is reported when it has run
			}
			if got != 3 {
				t.Errorf("%s: %d hits in 3 rounds", name, got)
			}
			b.Remove(bg)
			w.run()
		}
		w.finish()
	})
}

// TestLoneHeld: while the target is held at a rendezvous one thread can be stepped, and the others stay stopped.
func TestLoneHeld(t *testing.T) {
	w := startWalker(t, &Options{Stop: []notify.Point{notify.Grab}})
	b, err := w.c.BreakSymbol(bg, "", "ring_inc", 0, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Remove(bg)
	w.stop()
	others := w.count("others")
	w.wholeRound()
	w.wholeRound()
	if n := w.count("others"); n != others {
		t.Errorf("another thread has counted from %d to %d", others, n)
	}
	w.run()
	if err := w.c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	for n := w.count("rounds"); w.count("rounds") == n; {
	}
	w.finish()
}

// TestLoneSignal: a thread that got a signal while it was stopped goes to its handler at the next step.
func TestLoneSignal(t *testing.T) {
	w := startWalker(t, nil)
	handler := w.at("count")
	for range 50 {
		w.stop()
		w.g.Signal(syscall.SIGUSR1)
		for n := 0; w.step() != handler; n++ {
			if n > 100 { // it may have been stopped in the handler of the last signal
				t.Fatalf("%d steps, and no signal", n)
			}
		}
		w.run()
	}
	if n := w.count("signals"); n != 50 && n != 49 {
		t.Errorf("%d signals of 50", n)
	}
	w.finish()
}

// TestLoneRefused: a request that cannot be met returns an error. A thread that ends, or is detached, is waited for
// no longer.
func TestLoneRefused(t *testing.T) {
	w := startWalker(t, nil)
	none := func(*ptrace.Regs) {}
	if _, err := w.c.StopThread(bg, 1<<30, none); err != ErrNoThread {
		t.Errorf("no thread: %v", err)
	}
	w.stop()
	if _, err := w.c.StopThread(bg, w.g.PID, none); err != ErrAlone {
		t.Errorf("stop of one that is stopped: %v", err)
	}
	if err := w.c.Pause(bg, func(s *Stopped) error {
		_, err := s.Thread(w.g.PID).Regs()
		return errors.Join(err, w.lone.Step(bg, none))
	}); err == nil || !errors.Is(err, ErrOnControl) {
		t.Errorf("step on the control goroutine: %v", err)
	}
	w.run()
	if err := w.lone.Step(bg, none); err != ErrRuns {
		t.Errorf("step of one that runs: %v", err)
	}
	if err := w.lone.Run(bg); err != ErrRuns {
		t.Errorf("run of one that runs: %v", err)
	}

	// The reader's thread sleeps in its call: a step lasts until that returns.
	reader := w.g.Threads()[2]
	w.g.WaitFor("a thread that reads", func() bool {
		call, err := procfs.ReadSyscall(reader, reader)
		return err == nil && !call.Running && call.Nr == syscall.SYS_READ
	})
	lone, err := w.c.StopThread(bg, reader, none)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
	defer cancel()
	if err := lone.Step(ctx, none); err != context.DeadlineExceeded {
		t.Errorf("step over a call that blocks: %v", err)
	}
	if err := w.c.Pause(bg, func(*Stopped) error { return nil }); err != nil {
		t.Errorf("pause meanwhile: %v", err)
	}
	later := make(chan error, 1)
	go func() { later <- lone.Step(bg, none) }()
	w.g.Stdin.Write([]byte("x"))
	if err := <-later; err != nil {
		t.Errorf("the same step, waited for again: %v", err)
	}
	if err := lone.Run(bg); err != nil {
		t.Error(err)
	}
	<-w.c.Done()
	if _, err := w.c.StopThread(bg, reader, none); err != ErrEnded {
		t.Errorf("stop of a thread that is no more: %v", err)
	}
	if s := w.g.Wait(); s.ExitCode() != 0 {
		t.Errorf("it ended with %v", s)
	}
}

// TestReleaseWhileStepping: a thread that is detached in the middle of a step, as in a call that blocks, is not left
// with the processor's trap flag. The SIGTRAP of that flag would end the process.
func TestReleaseWhileStepping(t *testing.T) {
	none := func(*ptrace.Regs) {}
	for _, breaks := range []bool{false, true} {
		w := startWalker(t, nil)
		if breaks {
			if _, err := w.c.BreakSymbol(bg, "", "count", 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		reader := w.g.Threads()[2]
		w.g.WaitFor("a thread that reads", func() bool {
			call, err := procfs.ReadSyscall(reader, reader)
			return err == nil && !call.Running && call.Nr == syscall.SYS_READ
		})
		lone, err := w.c.StopThread(bg, reader, none)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
		if err := lone.Step(ctx, none); err != context.DeadlineExceeded {
			t.Errorf("step over a call that blocks: %v", err)
		}
		cancel()
		release(t, w.c, ModeRun)
		w.g.Stdin.Write([]byte("x"))
		if s := w.g.Wait(); s.ExitCode() != 0 {
			t.Errorf("with breakpoints: %v: it ended with %v", breaks, s)
		}
	}
}

// TestStopBeforeStep: a thread is stopped before it has begun a step, and the request for the step has been
// withdrawn. The thread does not have to make the step. The step would be over a call that blocks, and the stop is
// used up.
func TestStopBeforeStep(t *testing.T) {
	w := startWalker(t, nil)
	reader := w.g.Threads()[2]
	w.g.WaitFor("a thread that reads", func() bool {
		call, err := procfs.ReadSyscall(reader, reader)
		return err == nil && !call.Running && call.Nr == syscall.SYS_READ
	})
	late := time.AfterFunc(20*time.Second, func() {
		t.Error("it is waited for until its call returns")
		w.g.Stdin.Write([]byte("x"))
	})
	for range 50 {
		lone, err := w.c.StopThread(bg, reader, func(*ptrace.Regs) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.c.Do(bg, func() {
			g := &w.c.tracees
			r := g.Threads[reader]
			lone.phase, lone.from = loneSteps, r.Regs.PC()
			g.Settle(r)
			trapsOf(r).lone = nil
			g.Stopper.StopAll() // before it has been given a processor
			g.Stopper.ResumeAll()
		}); err != nil {
			t.Fatal(err)
		}
	}
	release(t, w.c, ModeRun)
	if late.Stop() {
		w.g.Stdin.Write([]byte("x"))
	}
	if s := w.g.Wait(); s.ExitCode() != 0 {
		t.Errorf("it ended with %v", s)
	}
}
