package ptrace

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// awaitStopped waits until a thread of the target is in a stop of ours, without consuming the wait status.
func awaitStopped(g *ptest.Target, tid int) {
	g.WaitFor("a tracing stop", func() bool { return g.ThreadState(tid) == 't' })
}

// TestCloneOrders: a new thread is traced from its birth, and reports an event stop. That stop and the event of
// its creator come in either order. If both are there, a wait for any thread returns the child's first, because
// the kernel puts new tracees in front of its list.
func TestCloneOrders(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "threadcreate.c"), "-w", "-n", "1")
	g.Ready()
	x := newTracer(t)
	x.seize(g.PID, OptClone)
	fmt.Fprintln(g.Stdin)
	awaitStopped(g, g.PID)
	child := x.otherThread(g)
	awaitStopped(g, child)
	first, second := x.next(), x.next()
	if first.TID != child || first.Kind != KindEventStop || second.TID != g.PID || second.Kind != KindClone {
		t.Errorf("%+v, then %+v", first, second)
	}
	if msg, err := EventMsg(g.PID); err != nil || msg != uint64(child) {
		t.Errorf("event message %d, %v: want %d", msg, err, child)
	}
	x.must(Cont(child, 0))
	x.want(child, KindExited, 0)
	x.must(Cont(g.PID, 0))

	awaitStopped(g, g.PID) // the next thread; its creator is asked first
	s, err := WaitTID(g.PID, false)
	if err != nil || s.Kind != KindClone {
		t.Fatalf("%+v, %v", s, err)
	}
	msg, err := EventMsg(g.PID)
	x.must(err)
	x.add(int(msg))
	x.want(int(msg), KindEventStop, 0)
}

func (x *tracer) otherThread(g *ptest.Target) int {
	x.t.Helper()
	others := slices.DeleteFunc(g.Threads(), func(tid int) bool { return tid == g.PID })
	if len(others) != 1 {
		x.t.Fatalf("threads other than the leader: %v", others)
	}
	x.add(others[0])
	return others[0]
}

// TestForkedChildIsTraced: a forked process is traced from its birth, as a copy. It runs when it is detached at
// its first stop.
func TestForkedChildIsTraced(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "/bin/sh", "-c", "echo ready; read x; (exit 5); echo $?")
	g.Ready()
	x := newTracer(t)
	x.seize(g.PID, OptFork|OptVfork|OptClone)
	fmt.Fprintln(g.Stdin)
	events := map[Kind]int{}
	for events[KindExited] == 0 {
		s := x.next()
		events[s.Kind]++
		switch {
		case s.Kind.Ended():
			if s.TID != g.PID || s.Code != 0 {
				t.Errorf("ended: %+v", s)
			}
		case s.TID != g.PID:
			if s.Kind != KindEventStop {
				t.Errorf("the child's first stop: %+v", s)
			}
			x.must(Detach(s.TID, 0))
		default:
			x.must(Cont(s.TID, s.Signal))
		}
	}
	if events[KindFork]+events[KindVfork] != 1 || events[KindEventStop] != 1 {
		t.Errorf("events: %v", events)
	}
	if got := g.Line(); got != "5" {
		t.Errorf("the child ended with %s", got)
	}
}

// TestExecByThread: an exec is reported under the leader's number, whichever thread has called execve. The event
// message is the former number of that thread. The other threads report nothing any more.
func TestExecByThread(t *testing.T) {
	x := newTracer(t)
	exe := ptest.BuildC(t, "execstorm.c")
	c := fork(t, exe, "-T", "-n", "2", "-t", "3")
	x.must(Seize(c.PID, OptClone|OptExec))
	x.must(c.Exec())
	var byOthers int
	ended := map[int]bool{}
	s := x.next()
	for ; s.TID != c.PID || !s.Kind.Ended(); s = x.next() {
		if s.Kind.Ended() {
			ended[s.TID] = true
			continue
		}
		if s.Kind == KindExec && x.execCaller(s.TID, c.PID, ended) != c.PID {
			byOthers++
		}
		// ESRCH: the exec of another thread has removed it.
		if err := Cont(s.TID, s.Signal); err != nil && err != syscall.ESRCH {
			t.Errorf("cont %+v: %v", s, err)
		}
	}
	if s.Kind != KindExited || s.Code != 0 {
		t.Errorf("ended: %+v", s)
	}
	if byOthers != 1 {
		t.Errorf("%d of 3 execs by a thread other than the leader, want 1", byOthers)
	}
}

// execCaller returns the former number of the thread that is stopped at its exec as tid.
func (x *tracer) execCaller(tid, pid int, ended map[int]bool) int {
	x.t.Helper()
	if tid != pid {
		x.t.Errorf("exec reported by %d of process %d", tid, pid)
	}
	msg, err := EventMsg(tid)
	x.must(err)
	former := int(msg)
	if former != pid {
		if ended[former] {
			x.t.Errorf("thread %d, which has called execve, was reported dead", former)
		}
		if err := Cont(former, 0); err != syscall.ESRCH {
			x.t.Errorf("a request to the former number: %v", err)
		}
	}
	return former
}

// TestFirstInstruction: a process that is seized between fork and exec stops at the first instruction of its
// program, or of the run-time linker if the program has one.
func TestFirstInstruction(t *testing.T) {
	x := newTracer(t)
	c := fork(t, "/bin/true")
	x.must(Seize(c.PID, OptExec|OptExitKill))
	x.must(c.Exec())
	x.want(c.PID, KindExec, 0)
	if got, want := x.regs(c.PID).PC(), firstInstruction(t, c.PID); got != want {
		t.Errorf("stopped at %#x, want %#x", got, want)
	}
	if err := c.ExecError(); err != nil {
		t.Error(err)
	}
	x.must(Cont(c.PID, 0))
	x.want(c.PID, KindExited, 0)
}

// firstInstruction finds the first instruction of a process, by the auxiliary vector.
func firstInstruction(t *testing.T, pid int) uint64 {
	t.Helper()
	const atBase, atEntry = 7, 9
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		t.Fatal(err)
	}
	auxv := map[uint64]uint64{}
	for ; len(b) >= 16; b = b[16:] {
		auxv[binary.LittleEndian.Uint64(b)] = binary.LittleEndian.Uint64(b[8:])
	}
	exe, err := elf.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	for _, p := range exe.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, p.Filesz-1)
		if _, err := p.ReadAt(name, 0); err != nil {
			t.Fatal(err)
		}
		interp, err := elf.Open(string(name))
		if err != nil {
			t.Fatal(err)
		}
		defer interp.Close()
		return auxv[atBase] + interp.Entry
	}
	return auxv[atEntry]
}
