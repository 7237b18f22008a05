package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestDebug: --debug and PTOOLS_TRACE=1 print what was done to the target on standard error, after all else.
func TestDebug(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "1")
	g.Ready()
	args := []string{"-p", fmt.Sprint(g.PID), "-s", "grab", "-H", "0", "-t", "0"}
	for _, env := range []string{"", "PTOOLS_TRACE=1"} {
		cmd := exec.Command(pgrabPath(t), args...)
		if env == "" {
			cmd.Args = append(cmd.Args, "--debug")
		} else {
			cmd.Env = append(cmd.Environ(), env)
		}
		r := runCommand(t, cmd)
		if r.status != 0 {
			t.Errorf("exit status %d", r.status)
		}
		if !strings.HasPrefix(r.stderr, fmt.Sprintf("# trace of %d,", g.PID)) {
			t.Errorf("standard error is %q", r.stderr)
		}
		for _, want := range []string{`seize`, `interrupt +running asked holds=1 awaited`, `stop event +running asked holds=1 awaited -> stopped holds=1 awaited`,
			`event stopped`, `event released`} {
			if !regexp.MustCompile(`(?m)^ *\d+\.\d{6} +\d+ ` + want + `$`).MatchString(r.stderr) {
				t.Errorf("no %s in\n%s", want, r.stderr)
			}
		}
	}
	if r := pgrab(t, nil, args...); r.stderr != "" {
		t.Errorf("without a trace: %s", r.stderr)
	}
}
