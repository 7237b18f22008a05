package procfs

import (
	"bytes"
	"runtime"
	"strconv"
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

// LastRun is when a thread that sleeps was on a processor last, by the clock of that
// processor's scheduler. These clocks leave out what interrupts, and the host of a virtual
// machine, have taken, so each has its own time: CPUClock.
type LastRun struct {
	CPU int
	At  time.Duration
}

// ReadLastRun reads that of a thread from its stat and its sched, se.exec_start.
// unix.ENODATA: it has been moved to another processor since.
func ReadLastRun(pid, tid int) (LastRun, error) {
	at, err := execStart(taskPath(pid, tid, "sched"))
	if err != nil {
		return LastRun{}, err
	}
	st, err := ReadTaskStat(pid, tid)
	if err != nil {
		return LastRun{}, err
	}
	return LastRun{st.Processor, at}, nil
}

func execStart(p path) (time.Duration, error) {
	b, err := p.read(make([]byte, 0, 4096))
	if err != nil {
		return 0, err
	}
	return parseExecStart(b)
}

// parseExecStart finds the line "se.exec_start : MILLISECONDS.NANOSECONDS".
func parseExecStart(b []byte) (time.Duration, error) {
	_, b, ok := bytes.Cut(b, []byte("\nse.exec_start"))
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	_, value, found := bytes.Cut(line, []byte{':'})
	ms, ns, point := bytes.Cut(bytes.TrimSpace(value), []byte{'.'})
	if !ok || !found || !point || len(ns) != 6 {
		return 0, malformed("sched", line)
	}
	m, err := strconv.ParseUint(string(ms), 10, 43)
	n, errN := strconv.ParseUint(string(ns), 10, 32)
	switch {
	case err != nil || errN != nil:
		return 0, malformed("sched", line)
	case m == 0 && n == 0:
		return 0, unix.ENODATA
	}
	return time.Duration(m)*time.Millisecond + time.Duration(n), nil
}

// CPUClock returns how far CLOCK_MONOTONIC is ahead of the clock of a processor's scheduler. It
// asks on that processor, by an OS thread that goes there for a moment: EINVAL if this program
// may not.
func CPUClock(cpu int) (ahead time.Duration, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ahead, err = cpuClock(cpu)
	}()
	<-done
	return ahead, err
}

func cpuClock(cpu int) (time.Duration, error) {
	var usual, one unix.CPUSet
	runtime.LockOSThread()
	if err := unix.SchedGetaffinity(0, &usual); err != nil {
		runtime.UnlockOSThread()
		return 0, err
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return 0, err
	}
	defer func() {
		if unix.SchedSetaffinity(0, &usual) == nil {
			runtime.UnlockOSThread() // else the thread ends with the goroutine
		}
	}()
	now := Monotonic()
	clock(unix.CLOCK_THREAD_CPUTIME_ID) // brings se.exec_start up to date
	at, err := execStart(taskPath(unix.Getpid(), unix.Gettid(), "sched"))
	return now - at, err
}
