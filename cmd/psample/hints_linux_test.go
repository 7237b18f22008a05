package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestUnreadFileHint: nobody is told to install debug symbols for a file that may not be read. They would not help.
func TestUnreadFileHint(t *testing.T) {
	ptest.Need(t, "setpriv")
	ptest.NeedUsers(t)
	psample := copyOf(t)
	target := filepath.Join(filepath.Dir(psample), "stripped")
	b, err := os.ReadFile(ptest.BuildC(t, "busyidle.c", "-s"))
	if err != nil {
		t.Fatal(err)
	}
	ptest.WriteProgram(t, target, b)
	user := []string{"--reuid", "65534", "--regid", "65534", "--clear-groups"}
	g := ptest.Start(t, slices.Concat([]string{"setpriv"}, user, []string{"/lib64/ld-linux-x86-64.so.2", target, "-b", "1", "-u", "300"})...)
	g.Ready()
	told := func() string {
		cmd := exec.Command("setpriv", slices.Concat(user, []string{psample, "-t", "0.3", "-p", strconv.Itoa(g.PID)})...)
		cmd.Dir = "/"
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
		return stderr.String()
	}
	s := told()
	for try := 0; try < 10 && !strings.Contains(s, "hint") && !strings.Contains(s, ", 0 missed)"); try++ { // a busy machine: the program may not have run meanwhile
		s = told()
	}
	if !strings.Contains(s, "install its debug symbols") {
		t.Errorf("a stripped file: %s", s)
	}
	if err := os.Chmod(target, 0); err != nil {
		t.Fatal(err)
	}
	if s := told(); !strings.Contains(s, target+" cannot be read: permission denied") || strings.Contains(s, "hint") {
		t.Errorf("a file that may not be read: %s", s)
	}
}

// TestLostOutput: a profile that is kept nowhere because standard output was closed is told. A redirection to /dev/null is not.
func TestLostOutput(t *testing.T) {
	ptest.Need(t, "sh")
	psample := copyOf(t)
	g := ptest.Start(t, "sleep", "1000")
	sampling := " -t 0.05 -p " + strconv.Itoa(g.PID)
	for line, lost := range map[string]bool{
		sampling + " >&-": true, sampling + " >/dev/null": false, sampling + " -o out.svg >&-": false, " --help >&-": true, " --help >/dev/null": false,
	} {
		cmd := exec.Command("sh", "-c", psample+line)
		cmd.Dir = t.TempDir()
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, &stderr)
		}
		if strings.Contains(stderr.String(), "what is written there is lost") != lost {
			t.Errorf("%s: %s", line, &stderr)
		}
	}
}
