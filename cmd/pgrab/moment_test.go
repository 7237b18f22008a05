package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// moment returns a random time after the start of a pgrab, from before it is
// up to when it has long been watching. The test is that it may be any moment,
// so nothing is waited for.
func moment(random *rand.Rand) time.Duration {
	return time.Duration(random.Int64N(int64(60 * time.Millisecond)))
}

// TestEndAtAnyMoment: whenever pgrab ends, and however, its target is left as
// the mode says.
func TestEndAtAnyMoment(t *testing.T) {
	random := ptest.Rand(t)
	for _, mode := range []string{"run", "kill", "stop"} {
		for _, end := range []os.Signal{nil, os.Interrupt, syscall.SIGTERM, os.Kill} {
			name := "time"
			if end != nil {
				name = end.String()
			}
			t.Run(mode+"/"+name, func(t *testing.T) {
				var worst time.Duration
				for round := range ptest.Rounds(1, 5, 200) {
					// A test of its own, so that its target ends with it.
					t.Run(strconv.Itoa(round), func(t *testing.T) {
						worst = max(worst, endAt(t, mode, end, moment(random)))
					})
				}
				if mode == "kill" {
					t.Logf("dead at most %v after pgrab", worst)
				}
			})
		}
	}
}

// endAt lets a pgrab end after a while and checks what it leaves. It returns
// how long after pgrab the target died, if it did.
func endAt(t *testing.T, mode string, end os.Signal, after time.Duration) (died time.Duration) {
	t.Helper()
	g, truth := startSpin(t)
	args := []string{"-e", mode, "-s", "none", "-p", strconv.Itoa(g.PID)}
	switch end {
	case nil:
		args = append(args, "-t", after.String())
	case os.Kill:
		args = append(args, "-q") // there are no traps of ours in its text
	}
	p := startPgrab(t, args...)
	if end != nil {
		time.Sleep(after)
		p.Signal(end)
	}
	out, _ := p.Finish()
	ended := time.Now()
	controlled := strings.Contains(out, "grabbed")
	switch {
	case mode == "kill" && controlled:
		g.WaitState("ZX")
		return time.Since(ended)
	case mode == "stop" && controlled:
		expectFree(t, g, "T")
	}
	if mode == "run" {
		expectFree(t, g, "RS")
	} else {
		// The process was controlled or not; either is right. Nothing can
		// keep it stopped after the SIGKILL of pgrab.
		g.Signal(syscall.SIGCONT)
	}
	goal := truth.Work() + 1
	g.WaitFor("its end or its progress", func() bool { return truth.Work() >= goal || living(g) == 0 })
	if mode != "kill" && living(g) == 0 {
		t.Errorf("it did not survive pgrab")
	}
	return 0
}

// TestKilledWithACommand: a SIGKILL leaves no process behind, at whatever moment of
// the creation it comes. The command has the standard output, so its end is the end
// of all processes.
func TestKilledWithACommand(t *testing.T) {
	random := ptest.Rand(t)
	exe := ptest.BuildC(t, "spin.c")
	for range ptest.Rounds(3, 20, 1000) {
		p := startPgrab(t, "-q", "-s", "none", "--", exe, "-t", "2")
		time.Sleep(moment(random))
		p.Kill()
		if out := p.Output(); out != "" && out != "ready\n" {
			t.Errorf("printed %q", out)
		}
		p.Wait()
	}
}
