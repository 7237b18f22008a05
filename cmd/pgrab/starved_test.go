package main

import (
	"bytes"
	"context"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestStarved: threads that are given no processor do not keep pgrab from ending in time, nor from letting go
// at ^C.
func TestStarved(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "starved.c"), "-t", "4", "-o", "24")
	g.Ready()
	pid := strconv.Itoa(g.PID)
	for _, test := range []struct {
		name string
		args []string
	}{
		{"time", []string{"-w", "-H", "0", "-t", "0.3", "-p", pid}},
		{"interrupt", []string{"-p", pid}},
	} {
		if testing.Short() && test.name == "interrupt" {
			break // the same thread waits
		}
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), ptest.Patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, pgrabPath(t), test.args...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			begun := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if test.name == "interrupt" {
				time.AfterFunc(time.Second, func() { cmd.Process.Signal(syscall.SIGINT) })
			}
			err := cmd.Wait()
			if took := time.Since(begun); err != nil || took > 8*time.Second {
				t.Errorf("%v after %v: %s", err, took, out.String())
			}
			if tracer := g.TracerPID(); tracer != 0 {
				t.Errorf("traced by %d", tracer)
			}
		})
	}
	g.Stdin.Close()
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("ended with %v: %s", state, out)
	}
}
