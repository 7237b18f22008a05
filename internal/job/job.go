// Package job makes a shell's job control work for a program that traces.
//
// A traced process stops at every signal until its tracer resumes it. So if the terminal stops a
// tracer (^Z, or a read in the background), other processes stop too, which no user has asked for.
// And in a command that the tracer runs, only the one thread that takes the signal stops. Hence:
//
//   - A program that traces processes which it did not start is not stopped by the terminal: [Stay].
//   - A program that runs a command leaves the terminal's signals to that command, with which it
//     shares a process group. It stops when the command has stopped, as the shell expects of its
//     job: [Command].
package job

import (
	"bytes"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// stops are the signals by which a terminal stops a process group.
var stops = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

func isStop(sig syscall.Signal) bool { return slices.Contains(stops, os.Signal(sig)) }

// Stay keeps the terminal from stopping this program until stop is called. A read of the terminal
// in the background then fails with EIO (termios(3), tcsetpgrp(3)). At a ^Z refused is called, on a
// goroutine that ends with stop. Programs that are executed inherit the ignored signals.
func Stay(refused func()) (stop func()) {
	if signal.Ignored(syscall.SIGTSTP) {
		refused = nil
	}
	signal.Ignore(stops[1:]...)
	if refused == nil {
		return func() {}
	}
	pressed := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(pressed, syscall.SIGTSTP)
	go func() {
		defer close(done)
		for range pressed {
			refused()
		}
	}()
	return func() {
		signal.Stop(pressed)
		close(pressed)
		<-done
	}
}

// Foreground reports whether our process group has the terminal (proc_pid_stat(5), pgrp and
// tpgid). Then an interrupt that is typed there goes to the whole group.
func Foreground() bool {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return false
	}
	const pgrp, tpgid = 2, 5 // counted from the state, which follows the name
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	return len(f) > tpgid && bytes.Equal(f[pgrp], f[tpgid])
}

// sameGroup reports whether a process is in our process group.
func sameGroup(pid int) bool {
	group, err := syscall.Getpgid(pid)
	return err == nil && group == syscall.Getpgrp()
}
