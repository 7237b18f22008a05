package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestOwnTraps: a process that has a handler of SIGTRAP and executes int3 instructions gets each of its
// own traps once, and none of ours, even if a breakpoint is at its own int3. That breakpoint cannot be
// a uprobe, and pgrab says so.
func TestOwnTraps(t *testing.T) {
	uprobe.Need(t)
	exe := ptest.BuildC(t, "selftrap.c")
	const why = "the kernel cannot execute this instruction out of its place"
	for _, tt := range []struct {
		trap, at string
		failed   int
		says     string
	}{
		{"int3", "trap_int3", 0, ""},
		{"int3", "trap_step", 0, ""},
		{"auto", "trap_int3", 0, why + "): harmless unless SIGKILL ends pgrab"},
		{"auto", "trap_step", 0, ""},
		{"uprobe", "trap_int3", 1, "no uprobe can be had: "},
		{"uprobe", "trap_step", 0, ""},
	} {
		t.Run(tt.trap+"/"+tt.at, func(t *testing.T) {
			truth := ptest.NewTruth(t)
			g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, exe)
			g.Ready()
			before := dispositionsOf(g.PID)
			p := ptest.Start(t, "sh", "-c", `exec "$0" "$@" 2>&1`, pgrabPath(t),
				"--trap", tt.trap, "-s", "none", "-b", tt.at, "-p", strconv.Itoa(g.PID))
			said := p.Line()
			for !strings.HasSuffix(said, "grabbed (1 thread)") && !strings.Contains(said, " hit ") {
				said += "\n" + p.Line()
			}
			g.AwaitWork(20)
			p.Signal(os.Interrupt)
			out, state := p.Finish()
			said += "\n" + out
			if state.ExitCode() != tt.failed || tt.says != "" && !strings.Contains(said, tt.says) || tt.says == "" && strings.Contains(said, "pgrab: ") {
				t.Errorf("pgrab: %v, printed\n%s", state, said)
			}
			if hit := strings.Contains(said, " hit "+tt.at+"+0 in selftrap (hit 20)"); hit == (tt.failed != 0) {
				t.Errorf("its hits: printed\n%s", said)
			}
			ptest.TextIntact(t, g.PID)
			if now := dispositionsOf(g.PID); now != before {
				t.Errorf("signals are %q, were %q", now, before)
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("ended with %v, printed %q", state, out)
			}
		})
	}
}
