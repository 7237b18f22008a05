package main

import (
	"context"
	"regexp"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
	"ptools/pctl"
)

// TestBesideAnother: while another program has a uprobe where the run-time linker reports objects, in a process of its own, breakpoints in a
// command's libraries are set, and its stop points reached.
func TestBesideAnother(t *testing.T) {
	uprobe.Need(t)
	g, _ := startSpin(t)
	s := pctl.NewSession(nil)
	defer s.Close()
	p, err := s.Grab(context.Background(), g.PID, &pctl.GrabOptions{Linker: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if risk := p.KillRisk(); risk.NoLoads != nil {
		t.Fatal(risk.NoLoads)
	}
	calls := ptest.BuildC(t, "calls.c")
	for _, tt := range []struct {
		args           []string
		stdout, stderr string
		status         int
	}{
		{[]string{"-s", "none", "-b", "f_push", "-b", "libc.so.6`malloc"}, `(?m)^ +\d+ +3 +0x[0-9a-f]+ +f_push\n +\d+ +[1-9]\d* +0x[0-9a-f]+ +libc.so.6` + "`malloc$", "^$", 0},
		{[]string{"-b", "f_push", "-s", "preinit,main", "-H", "0"}, `f_push\n$`, "^$", 0},
		{[]string{"-s", "none", "-b", "*"}, `f_push`, `^pgrab: \d+: breakpoint \* not set in libc.*: \d+ functions match, and at most 2000`, 1},
	} {
		r := pgrab(t, nil, append(append([]string{"-q"}, tt.args...), "--", calls, "-f", "push", "-n", "3")...)
		if r.status != tt.status || !regexp.MustCompile(tt.stdout).MatchString(r.stdout) || !regexp.MustCompile(tt.stderr).MatchString(r.stderr) {
			t.Errorf("%v: exit status %d, stdout %.2000s, stderr %s", tt.args, r.status, r.stdout, r.stderr)
		}
	}
}
