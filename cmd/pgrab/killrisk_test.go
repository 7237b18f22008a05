package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl"
)

func TestExposed(t *testing.T) {
	no, gone := errors.New("no"), errors.New("gone")
	for _, tt := range []struct {
		e    pctl.KillRisk
		want string
	}{
		{pctl.KillRisk{}, ""},
		{pctl.KillRisk{Int3s: true}, ""},
		{pctl.KillRisk{Int3s: true, NoUprobe: no}, "some breakpoints are int3s (no): " +
			"harmless unless SIGKILL ends pgrab; its guard then removes them, rarely too late"},
		{pctl.KillRisk{Int3s: true, NoGuard: gone}, "some breakpoints are int3s without a guard (gone): " +
			"should SIGKILL end pgrab they stay, and end the process when it comes to one"},
		{pctl.KillRisk{Int3s: true, NoUprobe: no, NoGuard: gone}, "some breakpoints are int3s (no) without a guard (gone): " +
			"should SIGKILL end pgrab they stay, and end the process when it comes to one"},
	} {
		if got := riskText(tt.e); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.e, got, tt.want)
		}
	}
}

// TestGuardLost: when the guard is killed, pgrab tells the user at the next event, once, also with
// --quiet.
func TestGuardLost(t *testing.T) {
	for _, args := range [][]string{{"-b", "main"}, {"-b", "main", "-q"}, {}} { // the last has the linker's
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			g := ptest.Start(t, ptest.BuildC(t, "idle.c"))
			g.Ready()
			p := ptest.Start(t, append([]string{"sh", "-c", `exec "$0" "$@" 2>&1`, pgrabPath(t),
				"--trap", "int3", "-s", "none", "-p", strconv.Itoa(g.PID)}, args...)...)
			guard := 0
			p.WaitFor("the guard", func() bool { guard = guardOf(p.PID); return guard != 0 })
			if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.WaitFor("its end", func() bool { return syscall.Kill(guard, 0) == syscall.ESRCH })
			g.Signal(syscall.SIGSTOP)
			g.WaitFor("its stop", g.Stopped)
			g.Signal(syscall.SIGCONT)
			p.Signal(os.Interrupt)
			out, state := p.Finish()
			const want = ": some breakpoints are int3s without a guard (the guard process has ended): "
			if n := strings.Count(out, want); n != 1 || !state.Success() {
				t.Errorf("%v, said %d times:\n%s", state, n, out)
			}
		})
	}
}

// TestKilledWithGuard: pgrab of an ordinary user, for whom there are no uprobes, has no int3 in the process if there are
// no breakpoints. The process outlives a kill of pgrab and its guard. pgrab says once that loaded objects are not shown.
func TestKilledWithGuard(t *testing.T) {
	needOrdinary(t)
	exe := publicCopy(t, ptest.BuildC(t, "dlchurn.c", "-ldl"))
	plugin := publicCopy(t, ptest.BuildC(t, "plugin.c", "-shared", "-fPIC"))
	o := &ptest.Options{Attr: asNobody()}
	g := ptest.StartWith(t, o, exe, "-p", plugin)
	g.Ready()
	p := ptest.StartWith(t, o, "sh", "-c", `exec "$0" "$@" 2>&1`, publicPgrab(t), "-s", "none", "-p", strconv.Itoa(g.PID))
	out := ""
	until := func(text string) {
		for line := ""; !strings.Contains(line, text); out += line + "\n" {
			line = p.Line()
		}
	}
	until("grabbed")
	g.Signal(syscall.SIGSTOP)
	until("stopped by signal")
	if ptest.HasTraps(g.PID) {
		t.Error("there is an int3 in the process")
	}
	g.Signal(syscall.SIGCONT)
	until("continued by a signal")
	if guard := guardOf(p.PID); guard != 0 {
		t.Error("there is a guard")
		syscall.Kill(guard, syscall.SIGKILL)
	}
	p.Kill()
	p.Wait()
	if n := strings.Count(out, "objects that are loaded from now on are not shown"); n != 1 {
		t.Errorf("said %d times that objects are not shown:\n%s", n, out)
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("the process ends with %v, %q", state, out)
	}
}

// TestWithheld: a set-user-ID program that is executed under control of an ordinary user lacks the rights of its file.
// Its event says so.
func TestWithheld(t *testing.T) {
	needOrdinary(t)
	id, err := exec.LookPath("id")
	if err != nil {
		t.Fatal(err)
	}
	exe := publicCopy(t, id)
	if err := os.Chmod(exe, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	o := &ptest.Options{Attr: asNobody()}
	if out, _ := ptest.StartWith(t, o, exe, "-u").Finish(); out != "0\n" {
		t.Skip("set-user-ID has no effect: the file system is mounted nosuid, or no_new_privs is set")
	}
	for _, argv := range [][]string{{exe, "-u"}, {"sh", "-c", `exec "$0" -u`, exe}} {
		p := ptest.StartWith(t, o, append([]string{publicPgrab(t), "-s", "none", "--"}, argv...)...)
		out, state := p.Finish()
		if !state.Success() || !strings.Contains(out, exe+", without the rights of its file") || !strings.Contains(out, "\n65534\n") {
			t.Errorf("%v, %v, printed\n%s", argv, state, out)
		}
	}
	p := startPgrab(t, "-s", "none", "--", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", exe, "-u")
	if out, _ := p.Finish(); strings.Contains(out, "without the rights") || !strings.Contains(out, "\n0\n") {
		t.Errorf("under root's control: %s", out)
	}
}
