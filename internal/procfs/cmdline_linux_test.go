package procfs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestCommandLine: arguments with zero bytes between them, cut at the limit. A page of them that never comes (userfaultfd) is
// not waited for: access_remote_vm() takes the fault without a retry, and ends there.
func TestCommandLine(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "unserved.c"), "-x", strings.Repeat("x", 3*4096))
	g.Ready()
	begun := time.Now()
	line, err := CommandLine(g.PID, 64<<10)
	if passed := time.Since(begun); passed > 5*time.Second {
		t.Errorf("after %v", passed)
	}
	if first, _, _ := bytes.Cut(line, []byte{0}); err != nil || !strings.HasSuffix(string(first), "/unserved") || len(line) > 2*4096+200 {
		t.Errorf("%d bytes, %v: %.100q", len(line), err, line)
	}
	if line, err := CommandLine(g.PID, 10); len(line) != 10 || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}
