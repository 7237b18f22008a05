package procfs

import (
	"bytes"
	"errors"
)

// A SchedStat is /proc/PID/task/TID/schedstat. Run counts nanoseconds on a
// CPU up to the last scheduler tick or switch. It changes whenever the thread
// has run at all, so an unchanged SchedStat means that the thread has not
// run in between.
type SchedStat struct {
	Run, Wait uint64 // ns on a CPU, ns runnable but waiting for one
	Slices    uint64 // times put on a CPU
}

// ParseSchedStat parses the text of a schedstat file.
func ParseSchedStat(b []byte) (SchedStat, error) {
	s := scanner{text: b}
	st := SchedStat{Run: s.uint(10), Wait: s.uint(10), Slices: s.uint(10)}
	if s.bad {
		return SchedStat{}, malformed("schedstat", b)
	}
	return st, nil
}

// ReadTaskSchedStat reads /proc/PID/task/TID/schedstat.
func ReadTaskSchedStat(pid, tid int) (SchedStat, error) {
	return parsed(taskPath(pid, tid, "schedstat"), ParseSchedStat)
}

// A Syscall is /proc/PID/task/TID/syscall: the position of a thread that is
// not running. Nr is -1 if the thread is not in a system call (stopped, or
// preempted in user mode). Args are zero then.
type Syscall struct {
	Running bool // on a CPU or waiting for one: nothing else is known
	Nr      int64
	Args    [6]uint64
	SP, PC  uint64
}

// ParseSyscall parses the three forms of proc_pid_syscall: "running",
// "-1 SP PC", and "NR A0 A1 A2 A3 A4 A5 SP PC".
func ParseSyscall(b []byte) (Syscall, error) {
	s := scanner{text: b}
	first := s.field()
	if string(first) == "running" {
		return Syscall{Running: true, Nr: -1}, nil
	}
	nr, ok := parseInt(first)
	if !ok {
		return Syscall{}, malformed("syscall", b)
	}
	c := Syscall{Nr: nr}
	if nr != -1 {
		for i := range c.Args {
			c.Args[i] = s.uint(16)
		}
	}
	c.SP, c.PC = s.uint(16), s.uint(16)
	if s.bad {
		return Syscall{}, malformed("syscall", b)
	}
	return c, nil
}

// ReadSyscall reads /proc/PID/task/TID/syscall. It needs the permission
// PTRACE_MODE_ATTACH.
func ReadSyscall(pid, tid int) (Syscall, error) {
	return parsed(taskPath(pid, tid, "syscall"), ParseSyscall)
}

// A Turn says when a thread had a processor last (/proc/PID/task/TID/sched).
type Turn struct {
	// At is se.exec_start, in nanoseconds of the clock of its processor: the time at which the scheduler has last brought the
	// thread's processor time up to date, for instance when it gave the thread a processor or took it away.
	At int64
	// Preempted is how often a processor was taken from the thread while it ran on (nr_involuntary_switches).
	Preempted int64
}

// parseTurn finds the lines of a Turn in the text of a sched file.
func parseTurn(b []byte) (Turn, error) {
	at, ok := schedLine(b, "se.exec_start") // milliseconds, a point, and six digits
	preempted, also := schedLine(b, "nr_involuntary_switches")
	switch {
	case ok && also:
		return Turn{at, preempted}, nil
	case bytes.Contains(b, []byte("se.exec_start")):
		return Turn{}, malformed("sched", b)
	}
	return Turn{}, errors.ErrUnsupported
}

// schedLine returns the digits of a line of a sched file as one number.
func schedLine(b []byte, name string) (n int64, ok bool) {
	_, rest, ok := bytes.Cut(b, []byte(name))
	line, _, whole := bytes.Cut(rest, []byte{'\n'})
	if !ok || !whole {
		return 0, false
	}
	digits := 0
	for _, c := range line {
		if c >= '0' && c <= '9' {
			n, digits = 10*n+int64(c-'0'), digits+1
		}
	}
	return n, digits > 0 && digits <= 18
}
