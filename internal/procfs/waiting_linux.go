package procfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns the time of CLOCK_MONOTONIC, which is the same for all processes (of a
// time namespace).
func Monotonic() time.Duration { return clock(unix.CLOCK_MONOTONIC) }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(id, &ts) // cannot fail
	return time.Duration(ts.Nano())
}

// ClockOf returns the time of one of a process's clocks (clock_gettime(2)). It reports false for clocks that count processor
// time, and where the process has a time namespace of its own.
func ClockOf(pid, id int) (time.Duration, bool) {
	if id < 0 || id == unix.CLOCK_PROCESS_CPUTIME_ID || id == unix.CLOCK_THREAD_CPUTIME_ID {
		return 0, false
	}
	theirs, err := Link(pid, "ns/time")
	ours, err2 := Link(unix.Getpid(), "ns/time")
	if err == nil && err2 == nil && theirs != ours { // without such namespaces neither has one
		return 0, false
	}
	var ts unix.Timespec
	if unix.ClockGettime(int32(id), &ts) != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}
