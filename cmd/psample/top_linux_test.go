package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestTop: the live view fits its terminal, also when the size changes, and takes keys. It leaves the terminal as
// it was, after q, after ^C, and when the process ends.
func TestTop(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "busyidle.c"), "-b", "1", "-u", "300")
	g.Ready()
	s := ptest.StartShell(t, "PSAMPLE="+psampleDir(t)+"/psample")
	s.Type("stty rows 24 cols 80; tty; stty -g\n")
	tty, modes := strings.TrimSpace(s.Line()), strings.TrimSpace(s.Line())
	resize := func(size string) {
		if out, err := exec.Command("stty", append([]string{"-F", tty}, strings.Fields(size)...)...).CombinedOutput(); err != nil {
			t.Fatalf("stty: %v %s", err, out)
		}
	}
	left := func(pid int, end string) {
		t.Helper()
		s.Until("status=0")
		if line := strings.TrimSpace(s.Line()); line != modes {
			t.Errorf("after %s the terminal is %s, was %s", end, line, modes)
		}
	}
	run := func(pid int, want string) {
		s.Type(fmt.Sprintf("$PSAMPLE -q --top -p %d; echo; echo status=$?; stty -g\n", pid))
		s.Until("\x1b[?1049h") // the screen
		s.Until(want)
	}

	run(g.PID, "  start_thread")
	s.Type("t")
	s.Until("  busyidle         ") // the name of a thread
	s.Type("t/nosuchfunction\r")
	s.Until("function")
	resize("rows 60 cols 200")
	lines := 0
	for s.Until("\x1b[H"); !strings.Contains(s.Line(), "\x1b[H"); { // from one first line to the next
		lines++
	}
	if lines != 59 && lines != 58 {
		t.Errorf("%d lines on a terminal of 60", lines+1)
	}
	s.Type("\x1b\x1b[A\x1b[B")
	s.Until("  start_thread")
	s.Type("q")
	left(g.PID, "q")

	resize("rows 10 cols 30")
	run(g.PID, "processor ")
	for range ptest.Rounds(6, 30, 30) {
		for _, line := range strings.Split(s.Line(), "\x1b[H") { // a screen ends without a new line
			if line = plain(line); len([]rune(line)) > 30 {
				t.Errorf("a line of %d on a terminal of 30: %q", len([]rune(line)), line)
			}
		}
	}
	s.Type("\x03")
	left(g.PID, "^C")

	run(g.PID, "processor ")
	g.Kill()
	left(g.PID, "the end of the process")
}

// plain returns a line without control sequences.
func plain(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\r':
		case line[i] == '\x1b' && i+1 < len(line) && line[i+1] == '[':
			for i += 2; i < len(line) && (line[i] < '@' || line[i] > '~'); i++ {
			}
		default:
			b.WriteByte(line[i])
		}
	}
	return b.String()
}

// TestTopTable: without a terminal a table is printed each second. Waiting threads are not in it.
func TestTopTable(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "busyidle.c"), "-u", "300")
	g.Ready()
	out, err := exec.Command(filepath.Join(psampleDir(t), "psample"), "-q", "--top", "-t", "2.5", "-p", fmt.Sprint(g.PID)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "cpu self*"); n < 1 || n > 2 {
		t.Errorf("%d tables in 2.5 s:\n%s", n, out)
	}
	if strings.Contains(string(out), "\x1b") || strings.Contains(string(out), "poll") {
		t.Errorf("output\n%s", out)
	}
}
