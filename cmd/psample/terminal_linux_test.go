package main

import (
	"fmt"
	"testing"

	"ptools/internal/ptest"
)

// TestTerminal: ^Z stops a command, all of it, and psample with it, as one job; it does
// not stop psample alone, which would have to answer for the process.
func TestTerminal(t *testing.T) {
	truth := ptest.NewTruth(t)
	t.Setenv("PS1", "")
	t.Setenv("SPIN", ptest.BuildC(t, "spin.c"))
	t.Setenv("PSAMPLE", psampleDir(t)+"/psample")
	m := ptest.NewTerminal(t)
	s := ptest.StartWith(t, &ptest.Options{Terminal: m}, "sh", "-i")
	s.Truth = truth
	m.Type(fmt.Sprintf("PTEST_TRUTH=%s $PSAMPLE -q -o /dev/null -- $SPIN -t 3; echo status=$?\n", truth.Path()))
	s.Until("ready")
	s.AwaitWork(1)
	m.Type("\x1a")
	s.Until("status=147")
	before := truth.Work()
	for range 1000 {
		if now := truth.Work(); now != before {
			t.Fatalf("counts on while it is stopped, from %d to %d", before, now)
		}
	}
	m.Type("fg; echo status=$?\n")
	s.AwaitWork(1)
	m.Type("\x03")
	s.Until("status=130")

	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "spin.c"))
	g.Ready()
	m.Type(fmt.Sprintf("$PSAMPLE -f -q -o /dev/null -p %d; echo status=$?\n", g.PID))
	s.Until(fmt.Sprintf("(tid %d)", g.PID))
	m.Type("\x1a")
	s.Until("psample: not stopped: ")
	g.AwaitWork(1)
	m.Type("\x03")
	s.Until("status=0")
}

// TestProgress: a terminal shows how far the sampling has come, and how many threads are counted.
func TestProgress(t *testing.T) {
	t.Setenv("PS1", "")
	t.Setenv("THREADCREATE", ptest.BuildC(t, "threadcreate.c"))
	t.Setenv("PSAMPLE", psampleDir(t)+"/psample")
	m := ptest.NewTerminal(t)
	s := ptest.StartWith(t, &ptest.Options{Terminal: m}, "sh", "-i")
	m.Type("stty opost ocrnl -onlcr\n") // what is overwritten is a line of its own
	for _, test := range []struct{ flag, line string }{
		{"-F 99", " samples, "},
		{"--threadcreate", " threads created"},
	} {
		m.Type(fmt.Sprintf("$PSAMPLE %s -o /dev/null -- $THREADCREATE -n 1000000; echo status=$?\n", test.flag))
		s.Until(test.line)
		m.Type("\x03")
		s.Until("status=130")
	}
}
