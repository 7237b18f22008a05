package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestCoreDump: a process that dumps core for long is let go in time, its threads are not interrupted, and the user is told.
func TestCoreDump(t *testing.T) {
	t.Parallel()
	if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.ContainsAny(string(pattern), "|/") {
		t.Skipf("core dumps do not go to the working directory: %q, %v", pattern, err)
	}
	exe := ptest.BuildC(t, "dumper.c")
	for _, args := range [...]string{"-w -t 0.2", "-s none -t 0.2", "-s grab -H 0.1 -t 0.2", "-s none -b main --trap int3 -t 0.2"} {
		h := ptest.NewHanging(t, exe)
		g := ptest.StartWith(t, &ptest.Options{Foreign: true, Dir: filepath.Dir(h.Program)}, exe, "-t", "3")
		g.Ready()
		h.HangCreate()
		fmt.Fprintln(g.Stdin)
		h.Asked() // for the file of the core dump
		p := ptest.Start(t, append([]string{"sh", "-c", `exec "$0" "$@" 2>&1`, pgrabPath(t), "--debug", "-p", strconv.Itoa(g.PID)}, strings.Fields(args)...)...)
		out, state := p.Finish()
		if !state.Success() || !strings.Contains(out, "released, running") || !strings.Contains(out, "it is dumping core") {
			t.Errorf("%s: %v", args, state)
		}
		if strings.Contains(out, " interrupt ") {
			t.Errorf("%s: threads are interrupted", args)
		}
		if t.Failed() {
			t.Log(out)
		}
		if g.TracerPID() != 0 {
			t.Errorf("%s: the process is still traced", args)
		}
		h.End()
		if state := g.Wait(); state.Success() {
			t.Errorf("the process ends with %v", state)
		}
	}
}
