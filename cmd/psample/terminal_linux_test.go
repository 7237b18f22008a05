package main

import (
	"fmt"
	"os/exec"
	"testing"

	"ptools/internal/ptest"
)

// TestTerminal: ^Z stops all of a command, and psample with it, as one job. It does not
// stop psample alone, which has to handle the stops of the process.
func TestTerminal(t *testing.T) {
	truth := ptest.NewTruth(t)
	s := ptest.StartShell(t, "SPIN="+ptest.BuildC(t, "spin.c"), "PSAMPLE="+psampleDir(t)+"/psample")
	s.Truth = truth
	for _, timers := range []string{"auto", "off"} { // let go, and controlled
		s.Type(fmt.Sprintf("PTEST_TRUTH=%s $PSAMPLE --timers %s -q -o /dev/null -- $SPIN -t 3; echo status=$?\n", truth.Path(), timers))
		s.Until("ready")
		s.AwaitWork(1)
		s.Type("\x1a")
		s.Until("status=147")
		s.StandsStill()
		s.Type("fg; echo status=$?\n")
		s.AwaitWork(1)
		s.Type("\x03")
		s.Until("status=130")
	}

	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "spin.c"))
	g.Ready()
	s.Type(fmt.Sprintf("$PSAMPLE -f -q -o /dev/null -p %d; echo status=$?\n", g.PID))
	s.Until(fmt.Sprintf("(tid %d)", g.PID))
	s.Type("\x1a")
	s.Until("psample: not stopped: ")
	g.AwaitWork(1)
	s.Type("\x03")
	s.Until("status=0")

	s.Type(fmt.Sprintf("$PSAMPLE -f -q -o /dev/null -p %d; echo status=$?\n", g.PID))
	s.Until(fmt.Sprintf("(tid %d)", g.PID))
	s.Type("\x1c")
	s.Until("status=0")
	for _, timers := range []string{"auto", "off"} {
		s.Type(fmt.Sprintf("$PSAMPLE --timers %s -q -- sh -c 'ulimit -c 0; echo ready; read x'; echo status=$?\n", timers))
		s.Until("ready")
		s.Type("\x1c")
		s.Until(" at 99 Hz")
		s.Until("status=131")
	}
}

// TestProgress: a terminal shows how far the sampling has come, and how many threads are counted.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := ptest.StartShell(t, "THREADCREATE="+ptest.BuildC(t, "threadcreate.c"), "PSAMPLE="+psampleDir(t)+"/psample")
	s.Type("stty opost ocrnl -onlcr\n") // each state of an overwritten line becomes a line of its own
	for _, test := range []struct{ flag, line string }{
		{"-F 99", " samples, "},
		{"--threadcreate", " threads created"},
	} {
		s.Type(fmt.Sprintf("$PSAMPLE %s -o /dev/null -- $THREADCREATE -n 1000000 -u 1000; echo status=$?\n", test.flag))
		s.Until(test.line)
		s.Type("\x03")
		s.Until("status=130")
	}
}

// TestTextFits: on a terminal the histogram fits the screen, with the closing line and a hint what to do next. In a pipe it
// is whole.
func TestTextFits(t *testing.T) {
	t.Parallel()
	idle := exec.Command("sleep", "60")
	if err := idle.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { idle.Process.Kill(); idle.Wait() })
	s := ptest.StartShell(t, "PSAMPLE="+psampleDir(t)+"/psample")
	s.Type("stty rows 24 cols 80\n")
	s.Type(fmt.Sprintf("$PSAMPLE -t 0.5 -p %d; echo status=$?\n", idle.Process.Pid))
	s.Until("clock_nanosleep")
	s.Until("hint: nothing used the processor, the threads waited: 'pgrab -w -p")
	s.Until("status=0")
}
