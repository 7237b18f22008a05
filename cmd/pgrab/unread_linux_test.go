package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestUnreadFile: functions and tables of a file that may not be read come from memory, and one line names the file.
func TestUnreadFile(t *testing.T) {
	dir := t.TempDir()
	linker := filepath.Join(dir, "linker")
	for name, from := range map[string]string{linker: "/lib64/ld-linux-x86-64.so.2", filepath.Join(dir, "libc.so.6"): "/lib/x86_64-linux-gnu/libc.so.6"} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(name, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	g := ptest.Start(t, linker, "--library-path", dir, "/bin/sleep", "1000")
	g.WaitState("S")
	pid := strconv.Itoa(g.PID)
	r := ptraceAlone(t, publicCopy(t, pgrabPath(t)), "-w", "-t", "0", "-p", pid)
	for _, want := range []string{"clock_nanosleep+0x", "__libc_start_main+0x"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("stdout lacks %s: %s", want, r.stdout)
		}
	}
	if strings.Contains(r.stdout, "cut short") || r.status != 0 {
		t.Errorf("status %d: %s", r.status, r.stdout)
	}
	want := "pgrab: " + filepath.Join(dir, "libc.so.6") + " cannot be read: permission denied"
	if strings.Count(r.stderr, want) != 1 || strings.Count(r.stderr, "\n") > 2 {
		t.Errorf("stderr %q, want one line %q", r.stderr, want)
	}
	r = ptraceAlone(t, publicCopy(t, pgrabPath(t)), "-q", "-t", "0", "-b", "no_such_function", "-p", pid)
	if !strings.Contains(r.stderr, want) || r.status != 1 {
		t.Errorf("status %d, stderr %q, want a line %q", r.status, r.stderr, want)
	}
}
