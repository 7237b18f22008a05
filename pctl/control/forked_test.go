package control

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// TestReleaseWhileForking releases a program just when it forks: its children have the traps that leave its own
// text.
func TestReleaseWhileForking(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "forkstorm.c"), "-t", "3", "-n", "0")
	g.Ready()
	for range ptest.Rounds(20, 150, 10_000) {
		c := attach(t, g.PID, &Options{Trap: TrapInt3})
		for _, name := range []string{"in_child", "_exit", "write"} {
			if _, err := c.BreakSymbol(bg, "", name, 0, func(*Hit) {}); err != nil {
				t.Error(err)
			}
		}
		release(t, c, ModeRun)
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v, %q", state, out)
	}
}

// TestHeldFork: the breakpoints leave the text for good, or because the target is released, while a thread is
// in fork(2) and cannot be stopped. The child has copied them.
func TestHeldFork(t *testing.T) {
	fd, _, errno := syscall.Syscall(323, 0, 0, 0)
	if errno != 0 {
		t.Skip("userfaultfd: ", errno)
	}
	syscall.Close(int(fd))
	goOn := func(g *ptest.Target) { fmt.Fprintln(g.Stdin, "go on") }
	for name, lift := range map[string]func(t *testing.T, g *ptest.Target, c *Controller, b *SymbolBreak){
		"released": func(t *testing.T, g *ptest.Target, c *Controller, _ *SymbolBreak) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				release(t, c, ModeRun)
			}()
			g.WaitFor("its own text", func() bool { return !ptest.HasTraps(g.PID) })
			goOn(g)
			<-done
		},
		"removed": func(t *testing.T, g *ptest.Target, c *Controller, b *SymbolBreak) {
			look := func(*Stopped) error { return nil }
			if err := errors.Join(c.Pause(bg, func(*Stopped) error { return b.Remove(bg) }), c.Pause(bg, look)); err != nil {
				t.Error(err)
			}
			goOn(g)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "heldfork.c"))
			g.Ready()
			c := attach(t, g.PID, &Options{Trap: TrapInt3})
			b, err := c.BreakSymbol(bg, "", "in_child", 0, func(*Hit) {})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(g.Stdin, "fork")
			g.WaitState("D")
			lift(t, g, c, b)
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v, %q", state, out)
			}
		})
	}
}

// TestChildOfVfork: a child of vfork(2) that has used the memory since before the attach passes the breakpoints
// in it.
func TestChildOfVfork(t *testing.T) {
	needX86(t)
	for _, threads := range []string{"0", "2"} {
		t.Run(threads, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "vforkwait.c"), "-t", threads)
			g.Ready()
			c := attach(t, g.PID, &Options{Trap: TrapInt3})
			hits := 0
			if _, err := c.BreakSymbol(bg, "", "_exit", 0, func(*Hit) { hits++ }); err != nil {
				t.Fatal(err)
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v, %q", state, out)
			}
			<-c.Done()
			if hits > 1 {
				t.Errorf("%d hits: those of the child are not the target's", hits)
			}
		})
	}
}

// TestReleaseWithoutKcmp: forked children have no traps, also where kcmp(2) is denied, as in containers.
func TestReleaseWithoutKcmp(t *testing.T) {
	if !ptest.Without(t, "kcmp") {
		return
	}
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "forkstorm.c"), "-t", "3", "-n", "0")
	g.Ready()
	for range ptest.Rounds(10, 100, 1000) {
		c := attach(t, g.PID, &Options{Trap: TrapInt3})
		for _, name := range []string{"in_child", "_exit", "write"} {
			if _, err := c.BreakSymbol(bg, "", name, 0, func(*Hit) {}); err != nil {
				t.Error(err)
			}
		}
		release(t, c, ModeRun)
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v, %q", state, out)
	}
}

// TestReportedTwice: a thread that was made while its creator had no tracer is found as the creator is attached to, and
// is reported by it afterwards: the creator has entered clone(2) under another tracer, and leaves it under this one.
func TestReportedTwice(t *testing.T) {
	needX86(t)
	fd, _, errno := syscall.Syscall(323, 0, 0, 0)
	if errno != 0 {
		t.Skip("userfaultfd: ", errno)
	}
	syscall.Close(int(fd))
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "heldclone.c"))
	g.Ready()
	seized, leave := make(chan error), make(chan struct{})
	var brief func()
	brief = func() {
		runtime.LockOSThread() // it ends with this goroutine, and with it its tracees are let go, wherever they are
		if ptrace.ThreadID() == ptrace.ProcessID() {
			go brief() // the first thread does not end
			<-leave
			return
		}
		seized <- ptrace.Seize(g.PID, ptrace.OptClone)
		<-leave
	}
	go brief()
	if err := <-seized; err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(g.Stdin, "clone")
	g.WaitFor("clone3", func() bool {
		in, err := procfs.ReadSyscall(g.PID, g.PID)
		return err == nil && in.Nr == 435 || gone(g.PID)
	})
	close(leave)
	g.WaitFor("no tracer", func() bool {
		st, err := procfs.ReadStatus(g.PID)
		return err != nil || st.TracerPID == 0
	})
	fmt.Fprintln(g.Stdin, "make it")
	g.WaitFor("the thread", func() bool {
		tids, err := procfs.Tasks(g.PID, nil)
		return err != nil || len(tids) == 2
	})
	c, err := Attach(bg, g.PID, traced(t, nil))
	if err != nil {
		if out, state := g.Finish(); state.Success() && strings.HasSuffix(out, "old\n") {
			t.Skip("no pidfd of a thread before Linux 6.9")
		}
		t.Fatal(err)
	}
	fmt.Fprintln(g.Stdin, "report it")
	for range 20 {
		if err := c.Pause(bg, func(s *Stopped) error {
			if n := len(s.Threads()); n != 2 {
				return fmt.Errorf("%d threads", n)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	release(t, c, ModeRun)
	fmt.Fprintln(g.Stdin, "end")
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v, %q", state, out)
	}
}
