package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// TestTrace traces a process that calls f_push(0), f_push(1) and so on, until
// it is interrupted.
func TestTrace(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "calls.c"), "-f", "push")
	g.Ready()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error)
	go func() { // ends with run, which cancel ends
		ended <- run(ctx, []string{"-args", "2", "-p", strconv.Itoa(g.PID), "f_push"}, w, io.Discard)
	}()
	lines := bufio.NewScanner(r)
	last := uint64(0)
	for i := range 100 {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		var tid int
		var arg, second uint64
		line := lines.Text()
		if _, err := fmt.Sscanf(line, "[%d] f_push(0x%x, 0x%x)", &tid, &arg, &second); err != nil || tid == 0 {
			t.Fatalf("line %q: %v", line, err)
		}
		if i > 0 && arg <= last {
			t.Fatalf("argument %#x after %#x", arg, last)
		}
		last = arg
	}
	cancel()
	go io.Copy(io.Discard, r) // ends with the pipe
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.Close()
	if by := g.TracerPID(); by != 0 {
		t.Errorf("still traced by %d", by)
	}
	g.AwaitWork(1)
}

func TestUsage(t *testing.T) {
	for _, args := range []string{"", "-p 1", "f", "-args 9 -p 1 f", "-p 1073741824 f"} {
		if err := run(context.Background(), strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("functrace %s: no error", args)
		}
	}
}
