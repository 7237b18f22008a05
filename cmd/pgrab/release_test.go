package main

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// startSpin starts a target that counts in two threads.
func startSpin(t *testing.T) (*ptest.Target, *ptest.Truth) {
	t.Helper()
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "spin.c"), "-t", "2")
	g.Ready()
	return g, truth
}

// ends are the ways in which a pgrab that watches a process ends.
var ends = []struct {
	name   string
	args   []string
	signal os.Signal // sent once it watches; nil: it ends by itself
}{
	{"time", []string{"-t", "0.1"}, nil},
	{"SIGINT", nil, os.Interrupt},
	{"SIGTERM", nil, syscall.SIGTERM},
	{"SIGHUP", nil, syscall.SIGHUP},
	{"SIGKILL", nil, os.Kill},
}

// TestReleaseModes crosses the modes with the ends, once while the process is
// held and once while it runs.
func TestReleaseModes(t *testing.T) {
	for _, mode := range []string{"run", "kill", "stop"} {
		for _, end := range ends {
			for _, stop := range []string{"grab", "none"} {
				t.Run(mode+"/"+end.name+"/"+stop, func(t *testing.T) {
					t.Parallel()
					g, truth := startSpin(t)
					args := append([]string{"-e", mode, "-s", stop, "-p", strconv.Itoa(g.PID)}, end.args...)
					if end.signal == os.Kill {
						killWhile(t, g, truth, mode, append(args, "-q"), stop == "grab")
						return
					}
					p := startPgrab(t, args...)
					first := "grabbed (3 threads)"
					if stop == "grab" {
						first += ", stopped at grab"
					}
					expect(t, p, g.PID, first)
					if end.signal != nil {
						p.Signal(end.signal)
					}
					checkEnd(t, p, g, truth, mode)
				})
			}
		}
	}
}

// checkEnd checks what a pgrab that lets go leaves of its target.
func checkEnd(t *testing.T, p, g *ptest.Target, truth *ptest.Truth, mode string) {
	t.Helper()
	switch mode {
	case "run":
		expect(t, p, g.PID, "released, running")
	case "kill":
		expect(t, p, g.PID, "killed by signal 9 (killed)")
	case "stop":
		expect(t, p, g.PID, "released, stopped")
	}
	if out, state := p.Finish(); out != "" || state.ExitCode() != 0 {
		t.Errorf("then pgrab prints %q and ends with %v", out, state)
	}
	switch mode {
	case "run":
		expectFree(t, g, "RS")
		g.AwaitWork(1)
	case "kill":
		g.WaitState("ZX")
	case "stop":
		expectFree(t, g, "T")
		work := truth.Work()
		if again := truth.Work(); again != work {
			t.Errorf("it counts on, from %d to %d, although it was left stopped", work, again)
		}
		g.Signal(syscall.SIGCONT)
		g.AwaitWork(1)
	}
}

// killWhile kills a quiet pgrab as soon as it controls, or holds, its target.
// Nothing can keep the target stopped then, so mode stop is like run.
func killWhile(t *testing.T, g *ptest.Target, truth *ptest.Truth, mode string, args []string, held bool) {
	t.Helper()
	p := startPgrab(t, args...)
	g.WaitFor("control", func() bool { return g.TracerPID() != 0 && (!held || g.Stopped()) })
	p.Kill()
	p.Wait()
	if mode == "kill" {
		g.WaitState("ZX")
		return
	}
	g.WaitFor("its being let go", func() bool { return g.TracerPID() == 0 })
	g.AwaitWork(1)
}

// TestHold checks that a process stands still as long as it is held, and
// continues to count afterwards.
func TestHold(t *testing.T) {
	g, _ := startSpin(t)
	p := startPgrab(t, "-p", strconv.Itoa(g.PID))
	expect(t, p, g.PID, "grabbed (3 threads), stopped at grab")
	if !g.Stopped() {
		t.Errorf("not every thread stands still")
	}
	g.StandsStill()
	p.Stdin.Write([]byte("\n"))
	expect(t, p, g.PID, "continued")
	g.AwaitWork(1)
	p.Signal(os.Interrupt)
	expect(t, p, g.PID, "released, running")
	if _, state := p.Finish(); state.ExitCode() != 0 {
		t.Errorf("pgrab ends with %v", state)
	}
}

// TestTimedHold holds for a time and lets go after another.
func TestTimedHold(t *testing.T) {
	t.Parallel()
	g, _ := startSpin(t)
	p := startPgrab(t, "-H", "50ms", "-t", "1s", "-p", strconv.Itoa(g.PID))
	expect(t, p, g.PID, "grabbed (3 threads), stopped at grab")
	expect(t, p, g.PID, "continued", "released, running")
	g.AwaitWork(1)
	expectFree(t, g, "RS")
}

// TestTargetDiesWhileHeld: pgrab reports a death that it has not caused.
func TestTargetDiesWhileHeld(t *testing.T) {
	g, _ := startSpin(t)
	p := startPgrab(t, "-p", strconv.Itoa(g.PID))
	expect(t, p, g.PID, "grabbed (3 threads), stopped at grab")
	g.Kill()
	expect(t, p, g.PID, "killed by signal 9 (killed)")
	if _, state := p.Finish(); state.ExitCode() != 0 {
		t.Errorf("pgrab ends with %v", state)
	}
}

// TestKilledWhileStopped: a target that the kernel is to kill with pgrab is not killed while another process
// has stopped it. After it was continued, it is killed again.
func TestKilledWhileStopped(t *testing.T) {
	for _, continued := range []bool{false, true} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "idle.c"), "-t", "0")
		g.Ready()
		p := startPgrab(t, "-s", "none", "-e", "kill", "-p", strconv.Itoa(g.PID))
		expect(t, p, g.PID, "grabbed (1 thread)")
		g.Signal(syscall.SIGSTOP)
		expect(t, p, g.PID, "stopped by signal 19 (stopped)")
		g.WaitFor("its stop", g.Stopped)
		if continued {
			g.Signal(syscall.SIGCONT)
			expect(t, p, g.PID, "continued by a signal")
			g.WaitState("S")
		}
		p.Kill()
		p.Wait()
		if continued {
			g.WaitState("X")
			continue
		}
		g.WaitFor("freedom", func() bool { return g.TracerPID() == 0 })
		if state := g.State(); state != 'T' {
			t.Errorf("state %c after pgrab's end", state)
		}
		g.Signal(syscall.SIGCONT)
		if out, state := g.Finish(); !state.Success() {
			t.Errorf("%v: %s", state, out)
		}
	}
}
