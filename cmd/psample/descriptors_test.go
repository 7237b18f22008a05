package main

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTooFewDescriptors: if even the runtime cannot have its descriptors, one line says so.
func TestTooFewDescriptors(t *testing.T) {
	psample := filepath.Join(psampleDir(t), "psample")
	for limit := 6; limit <= 12; limit++ {
		cmd := exec.Command("/bin/sh", "-c", "ulimit -n "+strconv.Itoa(limit)+`; exec "$0" -q -O folded -- true`, psample)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run()
		status, text := cmd.ProcessState.ExitCode(), stderr.String()
		if status > 1 || strings.Count(text, "\n") != status || status == 1 && !strings.Contains(text, "too many open files") {
			t.Errorf("limit %d: exit status %d, %q", limit, status, text)
		}
	}
}
