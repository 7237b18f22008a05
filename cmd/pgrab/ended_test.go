package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestBreakEnds: a breakpoint whose text goes away is reported, and is a failure: from then on hits there are not
// counted.
func TestBreakEnds(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "remap.c"))
		addr := g.Line()
		g.Ready()
		tell := func(letter string) {
			if _, err := io.WriteString(g.Stdin, letter); err != nil {
				t.Fatal(err)
			}
			if answer := g.Line(); answer != "ok" {
				t.Fatalf("%s: %q", letter, answer)
			}
		}
		args := []string{pgrabPath(t), "-s", "grab", "--trap", "int3", "-b", addr, "-p", strconv.Itoa(g.PID)}
		if quiet {
			args = append(args, "-q")
		}
		p := ptest.Start(t, args...)
		if quiet {
			g.WaitState("t")
		} else {
			p.Until("stopped at grab")
		}
		io.WriteString(p.Stdin, "\n")
		g.WaitState("S")
		tell("c")
		tell("d")
		p.Signal(os.Interrupt) // what is let go stands, and is looked at
		out, state := p.Finish()
		if state.ExitCode() != 1 || strings.Contains(out, ": breakpoint ") == quiet {
			t.Errorf("quiet %v: %v, %q", quiet, state, out)
		}
		g.Stdin.Close()
		g.Finish()
	}
}
