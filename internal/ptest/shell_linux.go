package ptest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Shell is an interactive shell on a terminal of its own.
type Shell struct {
	*Target
	*Terminal
}

// StartShell starts a shell that prints no prompts, with env ("NAME=value") in its environment.
func StartShell(t testing.TB, env ...string) *Shell {
	t.Helper()
	m := NewTerminal(t)
	s := &Shell{StartWith(t, &Options{Terminal: m, Env: append(env, "PS1=")}, "sh", "-i"), m}
	s.Type("PS1=; echo begin\n")
	s.Until("begin")
	return s
}

// Child waits until the shell has a child whose name is comm, and returns its PID.
func (s *Shell) Child(comm string) (pid int) {
	s.Target.t.Helper()
	s.WaitFor("a child that is called "+comm, func() bool {
		pid = s.child(comm)
		return pid != 0
	})
	return pid
}

func (s *Shell) child(name string) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID) + "/task/" + strconv.Itoa(s.PID) + "/children")
	if err != nil {
		return 0
	}
	for _, field := range strings.Fields(string(b)) {
		if pid, _ := strconv.Atoi(field); comm(pid) == name {
			return pid
		}
	}
	return 0
}

// Has waits until a process group has the terminal.
func (s *Shell) Has(group int) {
	s.Target.t.Helper()
	s.WaitFor("the terminal of "+strconv.Itoa(group), func() bool { return s.Foreground() == group })
}
