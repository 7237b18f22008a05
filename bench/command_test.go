package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFinish(t *testing.T) {
	r, err := finish(t.Context(), "sh", "-c", "echo out; echo err >&2")
	if err != nil || string(r.out) != "out\n" || string(r.err) != "err\n" || r.wall <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := finish(t.Context(), "sh", "-c", "echo why >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("a failure is reported as %v", err)
	}
}

// TestGroup shows that everything that a command has started ends with the context.
func TestGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b, err := launch(ctx, "sh", "-c", "sleep 1000 & echo started $!.; wait")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.says(ctx, "."); err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Sscanf(string(b.out.bytes()), "started %d.", &child); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := b.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := await(t.Context(), "the end of the child", func() bool { return !runs(child) }); err != nil {
		t.Error(err)
	}
}

// runs reports whether a process exists and is not only waiting to be reaped.
func runs(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func TestTail(t *testing.T) {
	var out tail
	for range 10 {
		out.Write(make([]byte, tailLimit))
	}
	out.Write([]byte("the end"))
	if n := len(out.bytes()); n > 2*tailLimit || !out.contains("the end") {
		t.Errorf("%d bytes", n)
	}
	if got := lastLine([]byte("a\nb\n\n")); got != ": b" {
		t.Errorf("last line %q", got)
	}
}

func TestAwait(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := await(ctx, "Godot", func() bool { return false }); err == nil || !strings.Contains(err.Error(), "Godot") {
		t.Errorf("waiting in vain ends with %v", err)
	}
}
