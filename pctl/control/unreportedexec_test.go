package control

import (
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// execNow is a target that executes another program when it is told to.
type execNow struct {
	*ptest.Target
	t     *testing.T
	other string
}

// startExecNow starts the target.
func startExecNow(t *testing.T, args ...string) execNow {
	t.Helper()
	needX86(t)
	at := []string{"-static", "-Wl,--section-start=.spot=0x500000,--section-start=.cell=0x600000"}
	first, other := ptest.BuildC(t, "testdata/execnow.c", at...), ptest.BuildC(t, "testdata/execnow.c", append(at, "-DOTHER")...)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, append([]string{first, other}, args...)...)
	g.Ready()
	return execNow{g, t, other}
}

// attach closes what was read of the two programs, which are executed for one test only, when the test ends.
func (e execNow) attach(o *Options) *Controller {
	e.t.Helper()
	o.Files = elfsym.NewCache(keptFiles)
	e.t.Cleanup(o.Files.Close)
	return attach(e.t, e.PID, o)
}

// execute returns when the target stands in the exec event, which has not been read.
func (e execNow) execute() {
	e.Stdin.Write([]byte("x"))
	e.WaitFor("the exec", func() bool {
		exe, _ := procfs.Exe(e.PID)
		return exe == e.other && e.State() == 't'
	})
}

// end has the other program look at its text once more, and end.
func (e execNow) end() {
	e.t.Helper()
	e.Stdin.Write([]byte("x"))
	if s := e.Wait(); !s.Success() {
		e.t.Errorf("it ended with %v", s)
	}
}

// The addresses of its functions.
const (
	spot      = 0x500002
	walk      = 0x500003
	walkSS    = 0x500006
	walkStore = 0x500008
)

// TestBreakBeforeExecReport: an address of one program does not become a breakpoint of the next one, whose exec is still to be
// reported.
func TestBreakBeforeExecReport(t *testing.T) {
	for _, trap := range []Trap{TrapInt3, TrapUprobe} {
		t.Run(trap.String(), func(t *testing.T) {
			if trap == TrapUprobe {
				needUprobes(t)
			}
			e := startExecNow(t)
			c := e.attach(&Options{Trap: trap})
			if err := c.Do(bg, func() {
				e.execute()
				if _, err := c.traps.addBreak(c.image.program, spot, func(*Hit) {}, toStop); err == nil {
					t.Error("it was set")
				}
			}); err != nil {
				t.Fatal(err)
			}
			e.end()
		})
	}
}

// TestChangeAcrossExec: a breakpoint that counts, and that is to stop threads as an int3, is not set in the next program.
func TestChangeAcrossExec(t *testing.T) {
	needUprobes(t)
	e := startExecNow(t, "blocks")
	c := e.attach(&Options{Trap: TrapAuto})
	if _, err := c.Break(bg, spot, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(bg, func() {
		e.execute()
		if _, err := c.traps.addBreak(c.image.program, spot, func(*Hit) {}, toStop); err != errReplacedProgram {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if risk := c.KillRisk(); risk.Int3s {
		t.Error("there is an int3")
	}
	e.end()
}

// TestStepAcrossExec: a leader that is to make a step with all threads stopped is ended by the exec of another one, which takes
// its number: the registers of the leader do not become those of the new program.
func TestStepAcrossExec(t *testing.T) {
	e := startExecNow(t, "thread")
	c := e.attach(&Options{Trap: TrapInt3, Stop: []notify.Point{notify.PointExec}})
	events := c.Bus().Subscribe(notify.Stopped)
	defer events.Close()
	if _, err := c.Break(bg, walkSS, func(h *Hit) {
		r := *h.Regs()
		r.SetFP(r.FP() + 1)
		h.SetRegs(&r)
		e.execute()
	}); err != nil {
		t.Fatal(err)
	}
	await(t, events, notify.Stopped)
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	e.end()
}

// TestMaskAcrossExec: a leader that makes a step, with its signals blocked for that, is ended by the exec of another thread,
// which takes its number: the new program has the signal mask of the thread that has executed it.
func TestMaskAcrossExec(t *testing.T) {
	e := startExecNow(t, "thread")
	c := e.attach(&Options{Trap: TrapInt3})
	b, err := c.Break(bg, spot, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StopThread(bg, e.PID, func(*ptrace.Regs) {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(bg, func() {
		leader := c.tracees.Threads[e.PID]
		trapsOf(leader).step = &step{b: b.bp}
		c.traps.stepper.beginStep(leader)
		e.execute()
	}); err != nil {
		t.Fatal(err)
	}
	e.end()
}

// TestWriteAcrossExec: what is to be written over the text of one program is not written to the next one.
func TestWriteAcrossExec(t *testing.T) {
	needUprobes(t)
	e := startExecNow(t)
	c := e.attach(&Options{Trap: TrapUprobe})
	if _, err := c.Break(bg, spot, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(bg, func() {
		e.execute()
		if _, err := c.WriteAt([]byte{0xc3}, spot); err == nil {
			t.Error("it was written")
		}
	}); err != nil {
		t.Fatal(err)
	}
	e.end()
}

// TestBreakByHandlerAcrossExec: an address that a handler has found in one program does not become a breakpoint of the next one.
func TestBreakByHandlerAcrossExec(t *testing.T) {
	for _, trap := range []Trap{TrapInt3, TrapUprobe} {
		t.Run(trap.String(), func(t *testing.T) {
			if trap == TrapUprobe {
				needUprobes(t)
			}
			e := startExecNow(t, "thread")
			c := e.attach(&Options{Trap: trap})
			handled := make(chan error, 1)
			if _, err := c.Break(bg, walk, func(*Hit) {
				e.execute()
				_, err := c.Break(bg, spot, func(*Hit) {})
				handled <- err
			}); err != nil {
				t.Fatal(err)
			}
			if err := <-handled; err == nil {
				t.Error("it was set")
			}
			e.end()
		})
	}
}

// TestForkBeforeExec: a child that was forked before another thread has executed a program, and that stops after this has been
// reported, has no breakpoints, also when the target is released meanwhile.
func TestForkBeforeExec(t *testing.T) {
	t.Run("stop", func(t *testing.T) {
		forkBeforeExec(t, func(c *Controller) {
			c.tracees.Stopper.StopAll() // the threads that are known are waited for, each by its number
			c.tracees.Stopper.ResumeAll()
		})
	})
	t.Run("release", func(t *testing.T) { forkBeforeExec(t, func(c *Controller) { c.parting.release(ModeRun) }) })
}

// fork has the target fork, and returns when it is stopped in the event of that, which has not been reported.
func (e execNow) fork() {
	e.Stdin.Write([]byte("f"))
	e.WaitFor("the child", func() bool {
		children, _ := procfs.Children(e.PID, e.PID)
		return len(children) == 1 && e.State() == 't'
	})
}

// forkBeforeExec calls meanwhile where neither the fork nor the exec has been reported.
func forkBeforeExec(t *testing.T, meanwhile func(*Controller)) {
	e := startExecNow(t, "forks")
	c := e.attach(&Options{Trap: TrapInt3})
	if _, err := c.Break(bg, spot, func(*Hit) {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(bg, func() {
		e.fork()
		e.execute()
		meanwhile(c)
	}); err != nil {
		t.Fatal(err)
	}
	e.end()
}

// TestForkBeforeEnd: a child that was forked before its parent was killed, and that stops after this has been reported, has no
// breakpoints.
func TestForkBeforeEnd(t *testing.T) {
	e := startExecNow(t, "forks")
	c := e.attach(&Options{Trap: TrapInt3})
	if _, err := c.Break(bg, spot, func(*Hit) {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(bg, func() {
		e.fork()
		e.Kill()
		c.tracees.Stopper.StopAll() // the threads that are known are waited for, each by its number
	}); err != nil {
		t.Fatal(err)
	}
	if out := e.Output(); out != "child\n" {
		t.Errorf("the child has written %q", out)
	}
}

// TestEmulationAcrossExec: what the instruction of a thread writes that an exec has ended is not written to the new program.
func TestEmulationAcrossExec(t *testing.T) {
	e := startExecNow(t, "thread")
	c := e.attach(&Options{Trap: TrapInt3})
	if _, err := c.Break(bg, walkStore, func(h *Hit) { e.execute() }); err != nil {
		t.Fatal(err)
	}
	events := c.Bus().Subscribe(notify.Exec)
	defer events.Close()
	await(t, events, notify.Exec)
	e.end()
}
