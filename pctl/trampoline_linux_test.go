package pctl_test

import (
	"context"
	"slices"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl"
)

// TestTrampolineName: the frame that a signal handler returns to has the name of its symbol, and without one not that of
// the function in front of it.
func TestTrampolineName(t *testing.T) {
	build := map[string]func(testing.TB, string, ...string) string{"glibc": ptest.BuildC, "musl": ptest.BuildMusl}
	for _, test := range []struct {
		libc  string
		flags []string
		want  string
	}{
		{"glibc", []string{"-static"}, "__restore_rt"},
		{"glibc", []string{"-static-pie"}, "__restore_rt"},
		{"glibc", []string{"-static", "-s"}, pctl.SignalHandler},
		{"musl", []string{"-static"}, "__restore_rt"},
		{"musl", []string{"-static", "-s"}, pctl.SignalHandler},
		{"musl", nil, pctl.SignalHandler},
	} {
		g := ptest.Start(t, build[test.libc](t, "testdata/handling.c", test.flags...))
		g.Ready()
		s := pctl.NewSession(nil)
		defer s.Close()
		p, err := s.Grab(context.Background(), g.PID, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var names []string
		if err := p.Pause(context.Background(), func(at *pctl.Snapshot) error {
			frames, err := at.Threads()[0].Calls()
			if err != nil {
				t.Errorf("%s %q: %v", test.libc, test.flags, err)
			}
			for _, f := range frames {
				names = append(names, f.Func)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if n := len(names); n < 4 || !slices.Contains(names, test.want) || slices.Contains(names, "setjmp") {
			t.Errorf("%s %q: %q, want %s", test.libc, test.flags, names, test.want)
		}
	}
}
