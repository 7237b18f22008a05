package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestGoroutinesOff: the goroutines of a Go program are sampled unless that is not wanted.
func TestGoroutinesOff(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildGo(t, "goroutines.go"), "-n", "3")
	g.Until("ready")
	for when, read := range map[string]bool{"auto": true, "off": false} {
		out, err := exec.Command(filepath.Join(psampleDir(t), "psample"), "-t", "0.3", "-q", "--goroutines", when, "-p", fmt.Sprint(g.PID)).CombinedOutput()
		text := string(out)
		if got := strings.Contains(text, "\ngoroutines: ") && strings.Contains(text, "[chan receive]"); got != read || err != nil {
			t.Errorf("--goroutines %s: %v\n%s", when, err, text)
		}
	}
}
