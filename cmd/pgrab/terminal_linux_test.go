package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

func startShell(t *testing.T) *ptest.Shell {
	t.Helper()
	return ptest.StartShell(t, "PGRAB="+pgrabPath(t))
}

// TestTerminalOfTarget: a process that has the terminal keeps it while it is held and let
// go. It stops at ^Z as its shell wants, continues with fg, and ends by ^C.
func TestTerminalOfTarget(t *testing.T) {
	s := startShell(t)
	s.Type("cat; echo status=$?\n")
	cat := s.Child("cat")
	s.Has(cat)
	s.Type("one\n")
	s.Until("one")
	p := startPgrab(t, "-p", strconv.Itoa(cat))
	expect(t, p, cat, "grabbed (1 thread), stopped at grab")
	s.Has(cat)
	s.Type("two\n")
	p.Stdin.Write([]byte("\n"))
	expect(t, p, cat, "continued")
	s.Until("two")
	s.Type("\x1a")
	expect(t, p, cat, "stopped by signal 20 (stopped)")
	s.Until("status=148")
	s.Has(s.PID)
	s.Type("fg\n")
	expect(t, p, cat, "continued by a signal")
	s.Has(cat)
	s.Type("three\n")
	s.Until("three")
	p.Signal(os.Interrupt)
	if out, state := p.Finish(); !strings.HasSuffix(out, "released, running\n") || state.ExitCode() != 0 {
		t.Errorf("pgrab ends with %q, %v", out, state)
	}
	s.Has(cat)
	s.Type("\x03")
	s.Has(s.PID)
	s.Type("echo status=$?\n")
	s.Until("status=130")
}

// TestTerminalOfCommand: typed input belongs to the command, whatever else is in its
// process group. The command reads, it is stopped and continues with the shell's fg, and
// it decides about ^C.
func TestTerminalOfCommand(t *testing.T) {
	s := startShell(t)
	s.Type("$PGRAB -q -s none -- cat; echo status=$?\n")
	p := s.Child("pgrab")
	s.Has(p)
	s.Type("one\n")
	s.Until("one")
	for range ptest.Rounds(1, 3, 50) {
		s.Type("\x1a")
		s.Until("status=147")
		s.Has(s.PID)
		s.Type("fg; echo status=$?\n")
		s.Has(p)
		s.Type("two\n")
		s.Until("two")
	}
	s.Type("\x03")
	s.Until("status=130")
	s.Has(s.PID)
	s.Type("$PGRAB -q -s none -- sh -c 'trap \"echo interrupted; exit 5\" INT; echo ready; read x'; echo status=$?\n")
	s.Until("ready")
	s.Type("\x03")
	s.Until("interrupted")
	s.Until("status=5")
	for _, tt := range []struct{ script, status string }{
		{"ulimit -c 0; echo ready; read x", "status=131"},
		{`trap \"echo quit; exit 6\" QUIT; echo ready; read x`, "status=6"},
	} {
		s.Type("$PGRAB -q -s none -- sh -c \"" + tt.script + "\"; echo status=$?\n")
		s.Until("ready")
		s.Type("\x1c")
		s.Until(tt.status)
		s.Has(s.PID)
	}
}

// TestStoppedCommand: when the terminal stops a command, all its threads stop, not only
// the thread that takes the signal.
func TestStoppedCommand(t *testing.T) {
	truth := ptest.NewTruth(t)
	t.Setenv("SPIN", ptest.BuildC(t, "spin.c"))
	s := startShell(t)
	s.Type(fmt.Sprintf("PTEST_TRUTH=%s $PGRAB -q -s none -- $SPIN -t 3; echo status=$?\n", truth.Path()))
	s.Until("ready")
	s.Truth = truth
	for range ptest.Rounds(1, 3, 50) {
		s.AwaitWork(1)
		s.Type("\x1a")
		s.Until("status=147")
		s.StandsStill()
		s.Type("fg; echo status=$?\n")
	}
	s.AwaitWork(1)
	s.Type("\x03")
	s.Until("status=130")
}

// TestBackgroundCommand: a command that reads the terminal in the background is stopped,
// with pgrab, until the shell brings it to the foreground. The same happens if pgrab
// reads.
func TestBackgroundCommand(t *testing.T) {
	s := startShell(t)
	for _, first := range []struct{ flags, keys string }{{"-s none", ""}, {"-s create", "\n"}} {
		s.Type("$PGRAB -q " + first.flags + " -- cat &\n")
		p := s.Child("pgrab")
		s.WaitFor("its stop", func() bool { return stat(p) == 'T' })
		s.Has(s.PID)
		s.Type("fg; echo status=$?\n")
		s.Has(p)
		s.Type(first.keys + "one\n")
		s.Until("one")
		s.Type("\x04")
		s.Until("status=0")
	}
}

// stat returns the state of a process.
func stat(pid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 'X'
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[0]
}

// TestBackgroundGrab: in the background there is no user to wait for, so a grabbed
// process is not held.
func TestBackgroundGrab(t *testing.T) {
	g, _ := startSpin(t)
	s := startShell(t)
	s.Type(fmt.Sprintf("$PGRAB -p %d & wait $!; echo status=$?\n", g.PID))
	s.Until(fmt.Sprintf("pid %d: grabbed (3 threads), stopped at grab", g.PID))
	s.Until(fmt.Sprintf("pid %d: continued", g.PID))
	g.AwaitWork(1)
	s.Has(s.PID)
	g.Kill()
	s.Until(fmt.Sprintf("pid %d: killed by signal 9 (killed)", g.PID))
	s.Until("status=0")
}

// TestPrompt: a user at a terminal is told what is waited for. ^Z does not stop
// pgrab, because it has to handle the stops of the process. ^C lets the process go,
// and so does ^\.
func TestPrompt(t *testing.T) {
	g, _ := startSpin(t)
	s := startShell(t)
	s.Type(fmt.Sprintf("$PGRAB -p %d; echo status=$?\n", g.PID))
	s.Until("stopped at grab")
	s.Until(fmt.Sprintf("pgrab: %d: held; Enter continues it", g.PID))
	p := s.Child("pgrab")
	s.Has(p)
	s.Type("\n")
	s.Until("continued")
	g.AwaitWork(1)
	s.Type("\x1a")
	s.Until("pgrab: not stopped: ")
	g.AwaitWork(1)
	s.Has(p)
	s.Type("\x03")
	s.Until(fmt.Sprintf("pid %d: released, running", g.PID))
	s.Until("status=0")
	s.Has(s.PID)
	expectFree(t, g, "RS")

	for _, key := range []string{"\x03", "\x1c"} {
		s.Type(fmt.Sprintf("$PGRAB -p %d; echo status=$?\n", g.PID))
		s.Until("held; Enter continues it")
		s.Type(key)
		s.Until(fmt.Sprintf("pid %d: released, running", g.PID))
		s.Until("status=0")
		expectFree(t, g, "RS")
	}
}
