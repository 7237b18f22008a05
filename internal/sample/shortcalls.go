package sample

import (
	"context"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// A stop is to show where a running thread is at a moment that does not depend on what
// the thread does. That moment is when the interrupt reaches its processor, some
// microseconds after the kernel has raised the flag for it. A thread that reaches the
// end of a system call meanwhile sees the flag there and stops too early. The time
// just before each call would then be counted as time in the call.
//
// If a call takes less time than that, nearly every stop at its end is too early. The
// thread is then looked at once more, when it has run on. So samples move from the code
// in front of the calls to the code behind them, and over all calls that is the same.
// For calls that take longer, most stops at their end are right.

// briefly lists the system calls that do less than an interrupt takes to arrive:
// they never sleep and touch no more than a few words.
var briefly = map[string]bool{
	"rt_sigaction": true, "rt_sigprocmask": true,
	"getpid": true, "gettid": true, "getppid": true,
	"getuid": true, "getgid": true, "geteuid": true, "getegid": true,
	"gettimeofday": true, "time": true, "clock_gettime": true, "clock_getres": true,
	"getrlimit": true, "getrusage": true, "times": true,
	"getpgrp": true, "getpgid": true, "getsid": true,
	"getpriority": true, "sched_getparam": true, "sched_getscheduler": true,
	"rt_sigpending": true, "sigaltstack": true,
	"lseek": true, "fcntl": true,
	"arch_prctl": true, "getcpu": true,
}

// keepShort says that one in so many stops at the end of a short call is kept: such a
// call takes about an eighth of the time that an interrupt takes to arrive.
const keepShort = 8

// tooEarly reports whether a thread has stopped too early.
func (l *looking) tooEarly(regs *ptrace.Regs) bool {
	nr, result, inCall := regs.SyscallReturn()
	if !inCall || !briefly[procfs.SyscallName(nr)] || result == -eintr {
		return false
	}
	l.short++
	return l.short%keepShort != 0
}

const eintr = 4

// runPolls bounds the wait for a thread to run. That takes as long as the waking
// of a processor, some ten readings.
const runPolls = 50

// awaitRun waits until a thread has been put on a processor after its stop. A thread
// that is interrupted before that stops at the same place again.
func (l *looking) awaitRun(t *thread) {
	for n := 0; !t.turn.ran && n < runPolls; n++ {
		sched, err := t.files.SchedStat()
		if err != nil {
			return
		}
		t.turn.ran = sched.Slices != t.usage.now.Slices
	}
}

// lookAgain looks at the threads that stopped too early. If a thread cannot be stopped
// now, what was seen first is kept.
func (l *looking) lookAgain(ctx context.Context) error {
	l.wanted, l.early, l.maybe = l.early, l.wanted[:0], l.maybe[:0]
	for _, t := range l.wanted {
		t.turn.visited = 0
		l.p.looking.awaitRun(t)
	}
	if err := l.stop(ctx, nil); err != nil {
		return err
	}
	replaced := l.p.image.Stale()
	for _, t := range l.wanted {
		if t.turn.visited != 0 && !replaced {
			l.p.sampler.cost.Ends[t.view.end]--
			l.taken(t, &l.snaps[t.turn.visited-1])
		}
	}
	return nil
}
