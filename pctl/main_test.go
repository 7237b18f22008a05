package pctl

import (
	"context"
	"flag"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

func TestMain(m *testing.M) {
	if refused, _ := uprobe.Refused(); refused { // an example cannot skip itself
		flag.Set("test.skip", "^ExampleProcess_Calls$")
	}
	ptest.Main(m)
}

var bg = context.Background()

// session returns a Session that is closed when the test ends.
func session(t testing.TB, o *SessionOptions) *Session {
	t.Helper()
	s := NewSession(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	return s
}

// grab grabs a process or fails.
func grab(t testing.TB, s *Session, pid int, o *GrabOptions) *Process {
	t.Helper()
	p, err := s.Grab(bg, pid, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startSpin starts a target that counts.
func startSpin(t testing.TB) (*ptest.Target, *ptest.Truth) {
	t.Helper()
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "spin.c"), "-t", "2")
	g.Ready()
	return g, truth
}

// startCalls starts a target that calls f_push in two threads, each a unit of
// work.
func startCalls(t testing.TB) (*ptest.Target, *ptest.Truth) {
	t.Helper()
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "calls.c"), "-t", "2", "-f", "push")
	g.Ready()
	return g, truth
}
