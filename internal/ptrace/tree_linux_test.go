package ptrace

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestTreeHasOneTracer: the descendants of a tracee are attached to the thread that traces it, with its options. Their own
// forks and execs are reported. Another thread of the program can make no request for them (ptrace_check_attach).
func TestTreeHasOneTracer(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "/bin/sh", "-c", "echo ready; read x; (/bin/true; exit 5); echo $?")
	g.Ready()
	x := newTracer(t)
	x.seize(g.PID, OptFork|OptVfork|OptClone|OptExec)
	fmt.Fprintln(g.Stdin)
	parents, execs, refused := map[int]int{}, 0, 0
	for over := false; !over; {
		s := x.next()
		sig := syscall.Signal(0)
		switch s.Kind {
		case KindFork, KindVfork:
			child, err := EventMsg(s.TID)
			x.must(err)
			parents[int(child)] = s.TID
		case KindEventStop:
			elsewhere(t, func() {
				if err := Cont(s.TID, 0); err == syscall.ESRCH {
					refused++
				}
			})
		case KindExec:
			execs++
		case KindSignal:
			sig = s.Signal
		case KindExited:
			if want := map[bool]int{true: 5, false: 0}[parents[s.TID] == g.PID]; s.Code != want {
				t.Errorf("process %d: status %d, want %d", s.TID, s.Code, want)
			}
			over = s.TID == g.PID
			continue
		}
		x.must(Cont(s.TID, sig))
	}
	depths := map[int]int{}
	for child := range parents {
		depth := 0
		for pid := child; pid != g.PID; pid = parents[pid] {
			depth++
		}
		depths[depth]++
	}
	if depths[1] != 1 || depths[2] != 1 || execs != 1 || refused != 2 {
		t.Errorf("children at depths %v, %d execs, %d requests of another thread refused", depths, execs, refused)
	}
	if out := g.Output(); out != "5\n" {
		t.Errorf("the shell printed %q", out)
	}
}

// TestTreeOfDeadTracer: a child inherits what becomes of it when its tracer ends. No wait status has to be consumed for
// that. PTRACE_O_EXITKILL kills the child in its first stop. Otherwise it runs on as if it had had no tracer.
func TestTreeOfDeadTracer(t *testing.T) {
	for _, kill := range []bool{false, true} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "/bin/sh", "-c", "echo ready; read x; (exit 5); echo $?")
		g.Ready()
		var err error
		exits := make(chan *Exit)
		go func() {
			lockFit(t) // and never unlocked: the thread ends with the goroutine
			exit := ThreadExit()
			o := Options(OptFork)
			if kill {
				o |= OptExitKill
			}
			if err = Seize(g.PID, o); err == nil {
				fmt.Fprintln(g.Stdin)
				for len(g.Threads()) == 1 && g.State() != 't' { // in the event of its fork
					runtime.Gosched()
				}
			}
			exits <- exit
		}()
		(<-exits).Wait()
		if err != nil {
			t.Fatal(err)
		}
		out, state := g.Finish()
		if kill != (state.String() == "signal: killed") || !kill && out != "5\n" {
			t.Errorf("exit kill %v: %v, printed %q", kill, state, out)
		}
	}
}
