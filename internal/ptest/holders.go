package ptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// holders describes the processes that have a pipe open, and where in the kernel their threads are. While a
// process has the pipe open, no reader sees its end. The pipe's name is that in /proc/PID/fd.
func holders(pipe string) string {
	var b strings.Builder
	for _, pid := range numbers("/proc") {
		if pid == os.Getpid() || !hasOpen(pid, pipe) {
			continue
		}
		for _, tid := range numbers(fmt.Sprintf("/proc/%d/task", pid)) {
			dir := fmt.Sprintf("/proc/%d/task/%d/", pid, tid)
			comm, _ := os.ReadFile(dir + "comm") // a file that cannot be read is left out
			stack, _ := os.ReadFile(dir + "stack")
			call, _ := os.ReadFile(dir + "syscall")
			fmt.Fprintf(&b, "\nprocess %d thread %d (%s) state %c, call %s, in\n%s", pid, tid, strings.TrimSpace(string(comm)), threadState(pid, tid),
				strings.TrimSpace(string(call)), stack)
		}
	}
	return b.String()
}

// hasOpen reports whether a process has a file of that name open.
func hasOpen(pid int, name string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == name {
			return true
		}
	}
	return false
}

// pipe returns the name of the target's standard output.
func (g *Target) pipe() (name string) {
	if conn, err := g.out.r.SyscallConn(); err == nil { // Fd would make reads block, and Close could not end them
		conn.Control(func(fd uintptr) { name, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) })
	}
	return name
}
