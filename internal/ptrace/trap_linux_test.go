package ptrace

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/machine"
	"ptools/internal/ptest"
)

// TestTrapUnblocks: the SIGTRAP of a trap is forced. If the thread has blocked it, the kernel unblocks it and sets
// the process's disposition to the default (kernel/signal.c, force_sig_info_to_task).
func TestTrapUnblocks(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	awaitCall(g, g.PID, unix.SYS_READ)
	x.halt(g.PID)
	const trap = 1 << (syscall.SIGTRAP - 1)
	mask, err := SigMask(g.PID)
	x.must(err)
	x.must(SetSigMask(g.PID, mask|trap))
	pc := x.regs(g.PID).PC() + restartedAt
	old := poke(t, g, pc, machine.Trap) // behind the system call, where it returns
	x.must(Cont(g.PID, 0))
	say(t, g)
	x.want(g.PID, KindSignal, syscall.SIGTRAP)
	var si SigInfo
	x.must(GetSigInfo(g.PID, &si))
	if si.Code != trapCode {
		t.Errorf("si_code %#x, want %#x", si.Code, trapCode)
	}
	if now, err := SigMask(g.PID); now != mask || err != nil {
		t.Errorf("mask %#x, %v: want %#x", now, err, mask)
	}
	r := x.regs(g.PID)
	if r.PC() != pc+machine.TrapBehind {
		t.Errorf("trapped at %#x, want %#x", r.PC(), pc+machine.TrapBehind)
	}
	poke(t, g, pc, old)
	r.SetPC(pc)
	x.must(SetRegs(g.PID, r))
	x.must(Cont(g.PID, 0))
	if got := g.Line(); got != "hello" {
		t.Errorf("cat answers %q", got)
	}
}

// TestReportedSignalEndsWithTracer: a thread is in a signal-delivery stop when its tracer ends. If the wait status
// was consumed the signal is dropped, otherwise it is delivered (wait_task_stopped in kernel/exit.c takes it out of
// the thread's exit_code).
func TestReportedSignalEndsWithTracer(t *testing.T) {
	seen, unseen := startCat(t), startCat(t)
	exits := make(chan *Exit, 1)
	go func() {
		defer close(exits)
		lockFit(t) // and never unlocked: the thread ends with the goroutine
		exit := ThreadExit()
		if trapTwo(t, seen, unseen) {
			exits <- exit
		}
	}()
	exit := <-exits
	if exit == nil {
		t.FailNow()
	}
	exit.Wait()
	if got := seen.Line(); got != "hello" {
		t.Errorf("cat answers %q", got)
	}
	if s := unseen.Wait().Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGTRAP {
		t.Errorf("the other one ended with %#x", s)
	}
}

// trapTwo makes two targets hit a trap. The wait status of the first one is consumed, and it is set back to its
// own instruction.
func trapTwo(t *testing.T, seen, unseen *ptest.Target) bool {
	for _, g := range []*ptest.Target{seen, unseen} {
		awaitCall(g, g.PID, unix.SYS_READ)
		var r Regs
		if Seize(g.PID, 0) != nil || Interrupt(g.PID) != nil {
			t.Errorf("target %d cannot be seized", g.PID)
			return false
		}
		if _, err := WaitTID(g.PID, true); err != nil || GetRegs(g.PID, &r) != nil {
			t.Errorf("wait for target %d: %v", g.PID, err)
			return false
		}
		pc := r.PC() + restartedAt
		old := poke(t, g, pc, machine.Trap)
		Cont(g.PID, 0)
		say(t, g)
		if g == unseen {
			g.WaitFor("its trap", g.Stopped)
			return true
		}
		s, err := WaitTID(g.PID, true)
		if err != nil || s.Signal != syscall.SIGTRAP || GetRegs(g.PID, &r) != nil {
			t.Errorf("target %d: %+v, %v", g.PID, s, err)
			return false
		}
		poke(t, g, pc, old)
		r.SetPC(pc)
		if err := SetRegs(g.PID, &r); err != nil {
			t.Error(err)
		}
	}
	return false
}

// poke replaces what is in the target's text, which /proc/PID/mem may write, and returns what was there.
func poke(t *testing.T, g *ptest.Target, addr uint64, text string) string {
	t.Helper()
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", g.PID), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := make([]byte, len(text))
	if _, err := f.ReadAt(old, int64(addr)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), int64(addr)); err != nil {
		t.Fatal(err)
	}
	return string(old)
}

// TestUpdateRegs: UpdateRegs writes what was changed, whether that is only the program counter or not.
func TestUpdateRegs(t *testing.T) {
	g := startCat(t)
	x := newTracer(t)
	x.seize(g.PID, 0)
	awaitCall(g, g.PID, unix.SYS_READ)
	x.halt(g.PID)
	before := *x.regs(g.PID)
	was := before
	for name, change := range map[string]func(*Regs){
		"nothing":         func(*Regs) {},
		"program counter": func(r *Regs) { r.SetPC(r.PC() + 100) },
		"another":         func(r *Regs) { r.SetFP(r.FP() + 1) },
		"both":            func(r *Regs) { r.SetPC(r.PC() + machine.SlotSize); r.SetSP(r.SP() - 16) },
	} {
		now := was
		change(&now)
		x.must(UpdateRegs(g.PID, &was, &now))
		if got := *x.regs(g.PID); got != now {
			t.Errorf("%s: %+v, want %+v", name, got, now)
		}
		was = now
	}
	x.must(UpdateRegs(g.PID, &was, &before))
	x.must(Cont(g.PID, 0))
	say(t, g)
	if got := g.Line(); got != "hello" {
		t.Errorf("cat answers %q", got)
	}
}

// TestQuietStops: with SA_NOCLDSTOP the handler of SIGCHLD stays the same.
func TestQuietStops(t *testing.T) {
	const saNoCldWait = 0x2
	var before, after sigaction
	if err := rtSigaction(syscall.SIGCHLD, nil, &before); err != nil {
		t.Fatal(err)
	}
	defer rtSigaction(syscall.SIGCHLD, &before, nil)
	if err := QuietStops(); err != nil {
		t.Fatal(err)
	}
	if err := rtSigaction(syscall.SIGCHLD, nil, &after); err != nil {
		t.Fatal(err)
	}
	if after.handler != before.handler || after.flags != before.flags|saNoCldStop || after.flags&saNoCldWait != 0 {
		t.Errorf("%+v became %+v", before, after)
	}
}

// TestStepWithoutTracer: a thread in the middle of a step, here in a call that blocks, keeps the trap flag when its
// tracer ends, and the process dies of the SIGTRAP. A detach clears the flag.
func TestStepWithoutTracer(t *testing.T) {
	for _, detach := range []bool{false, true} {
		cat := startCat(t)
		awaitCall(cat, cat.PID, unix.SYS_READ)
		traceBriefly(t, []int{cat.PID}, func(tid int) error {
			stop := func() error {
				if err := Interrupt(tid); err != nil {
					return err
				}
				s, err := WaitTID(tid, true)
				if err == nil && s.Kind != KindEventStop {
					t.Errorf("%+v, want the stop of an interrupt", s)
				}
				return err
			}
			if err := errors.Join(stop(), SingleStep(tid, 0)); err != nil {
				return err
			}
			awaitCall(cat, tid, unix.SYS_READ)
			if !detach {
				return nil
			}
			if err := stop(); err != nil {
				return err
			}
			if pending, err := Pending(tid, syscall.SIGTRAP); err != nil || !pending {
				t.Errorf("pending SIGTRAP: %v, %v", pending, err)
			}
			if err := Cont(tid, 0); err != nil {
				return err
			}
			if s, err := WaitTID(tid, true); err != nil || s.Kind != KindSignal || s.Signal != syscall.SIGTRAP {
				t.Errorf("%+v, %v, want SIGTRAP", s, err)
			}
			return Detach(tid, 0)
		})
		if detach {
			echo(t, cat)
			continue
		}
		say(t, cat)
		if s := cat.Wait().Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGTRAP {
			t.Errorf("it ended with %v, want SIGTRAP", s)
		}
	}
}

// TestCallOfWakingThread: while a resumed thread is being woken, its /proc/PID/task/TID/syscall still shows the call of
// its stop, as if the thread slept in it. The thread's state is R then. So a thread whose state was S just before does
// sleep in the call that is shown.
func TestCallOfWakingThread(t *testing.T) {
	cat := startCat(t)
	x := newTracer(t)
	x.seize(cat.PID, 0)
	slept := func() (n int64) {
		st, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cat.PID))
		x.must(err)
		_, line, _ := strings.Cut(string(st), "\nvoluntary_ctxt_switches:\t")
		_, err = fmt.Sscan(line, &n)
		x.must(err)
		return n
	}
	stale := 0
	for range 1000 {
		x.halt(cat.PID)
		before := slept()
		x.must(Cont(cat.PID, 0))
		if systemCall(cat.PID, cat.PID) == unix.SYS_READ && slept() == before {
			stale++
		}
		awaitCall(cat, cat.PID, unix.SYS_READ)
		if slept() == before {
			t.Fatal("it has not slept since, in state S")
		}
	}
	t.Logf("the call alone was that of the stop %d times", stale)
}
