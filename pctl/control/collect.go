package control

import (
	"syscall"
	"time"

	"ptools/internal/ptrace"
)

// collect handles reports until none of threads is wanted any more. tick is called
// every millisecond or so.
//
// wait4(2) for any thread looks at every tracee, which makes stopping n threads cost
// n² looks. These threads are known, so each is asked for by its number: first the
// one that was interrupted last, since the others will mostly have stopped by then;
// then all of them, without sleeping.
func (w *waiter) collect(threads []*thread, wanted func(*thread) bool, tick func()) {
	w.g.reports.read()
	pending := threads
	for polls := w.polls(len(threads)); !w.g.phase.over(); polls-- {
		pending = w.sweep(pending, wanted)
		if len(pending) == 0 {
			return
		}
		if polls <= 0 {
			w.waitFor(pending[len(pending)-1], wanted, tick)
		}
	}
}

// polls returns how many sweeps are worth making before sleeping: a thread that runs
// on another processor stops within microseconds, and being woken costs as much.
func (w *waiter) polls(n int) int {
	if w.g.spin.off || n > 4 {
		return 1
	}
	return 40
}

// sweep takes the reports that are there from the threads that are wanted, and
// returns those that are wanted still. It reuses the slice.
func (w *waiter) sweep(threads []*thread, wanted func(*thread) bool) []*thread {
	left := threads[:0]
	for _, t := range threads {
		if w.g.phase.over() {
			return nil
		}
		if wanted(t) {
			w.take(t)
		}
		if wanted(t) {
			left = append(left, t)
		}
	}
	return left
}

// take handles the report of one thread if there is one.
func (w *waiter) take(t *thread) {
	if len(w.g.reports.stolen) > 0 || w.g.reports.own && t.tid == w.g.pid {
		// In order, and not the exit status that is somebody else's.
		if s, err := w.g.reports.pollNow(); err == nil && s.Kind != ptrace.KindNone {
			w.g.dispatch(s)
			w.g.reports.read()
		}
		return
	}
	s, err := w.g.reports.waitTID(t.tid, false)
	switch {
	case err == syscall.ECHILD && t.tid != w.g.pid:
		w.vanished(t)
	case err == nil && s.Kind != ptrace.KindNone:
		w.g.dispatch(s)
		w.g.reports.read()
	}
}

// waitFor sleeps until one thread has something to report. Whatever the others have
// to say is listened to when that takes long: they may be what it waits for.
func (w *waiter) waitFor(t *thread, wanted func(*thread) bool, tick func()) {
	defer w.g.alarm.start()()
	for start := time.Now(); !w.g.phase.over() && wanted(t); {
		if w.g.reports.own && t.tid == w.g.pid || len(w.g.reports.stolen) > 0 {
			w.drain()
			if wanted(t) {
				w.report(w.g.reports.wait(true))
			}
			return
		}
		s, err := w.g.reports.waitTID(t.tid, true)
		if err == nil && s.Kind != ptrace.KindNone { // none: it was killed in its stop
			w.g.dispatch(s)
			w.g.reports.read()
			return
		}
		w.drain()
		if err == syscall.ECHILD && wanted(t) && w.g.has(t) {
			if t.tid != w.g.pid {
				w.vanished(t)
				return
			}
			w.report(w.g.reports.wait(true)) // only its end explains that
			return
		}
		if time.Since(start) > ringAgain {
			tick()
		}
	}
}

// vanished takes a thread that cannot be waited for any more off the books: an exec has
// ended it, or has given it the leader's number. In either case whoever was the leader is
// no more, even where it was held or had been let go before. The one that comes after it
// is traced if it was, and reports the exec.
func (w *waiter) vanished(t *thread) {
	w.g.drop(t)
	if t.role != roleThread || !w.g.seizer.leaderIsOurs() {
		return
	}
	leader := w.g.threads[w.g.pid]
	switch {
	case leader == nil:
		w.g.add(w.g.pid, roleThread, stateRunning)
	case leader.m.state == stateStopped && !w.stands(leader):
		w.g.drop(leader)
		w.g.add(w.g.pid, roleThread, stateRunning)
	}
}

// stands reports whether a thread is in the stop that it has reported. One that has taken its number
// by execve(2) runs, or has its own report to make.
func (w *waiter) stands(t *thread) bool {
	var regs ptrace.Regs
	s, err := ptrace.PeekTID(t.tid, false)
	return err == nil && s.Kind == ptrace.KindNone && ptrace.GetRegs(t.tid, &regs) == nil
}
