package tracee

import (
	"syscall"
	"time"

	"ptools/internal/ptrace"
)

// collect handles wait statuses until none of threads is wanted any more. tick is called
// every millisecond or so.
//
// wait4(2) for any thread looks at every tracee, so stopping n threads would cost
// n² looks. These threads are known, so each is waited for by its number: first the
// one that was interrupted last, since the others will mostly have stopped by then;
// then all of them, without sleeping.
func (w *Waiter) collect(threads []*Thread, wanted func(*Thread) bool, tick func()) {
	w.g.Reports.keep()
	pending := threads
	for polls := w.polls(len(threads)); !w.g.phase.Over(); polls-- {
		pending = w.sweep(pending, wanted)
		if len(pending) == 0 {
			return
		}
		if polls <= 0 {
			w.waitFor(pending[len(pending)-1], wanted, tick)
		}
	}
}

// polls returns how many sweeps are worth making before sleeping. A thread that runs
// on another processor stops within microseconds, and a wake-up of this thread costs as much.
func (w *Waiter) polls(n int) int {
	if w.g.Spin.off || n > 4 {
		return 1
	}
	return 40
}

// sweep handles the wait statuses that the wanted threads have, and returns the threads
// that are still wanted. It reuses the slice.
func (w *Waiter) sweep(threads []*Thread, wanted func(*Thread) bool) []*Thread {
	left := threads[:0]
	for _, t := range threads {
		if w.g.phase.Over() {
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

// take handles the wait status of one thread if there is one.
func (w *Waiter) take(t *Thread) {
	if len(w.g.Reports.stolen) > 0 || w.g.Reports.own == t.TID {
		// This keeps the order, and leaves an exit status that the program itself collects.
		if s, err := w.g.Reports.pollNow(); err == nil && s.Kind != ptrace.KindNone {
			w.g.Tracer.report(s, nil)
		}
		return
	}
	s, err := w.g.Reports.waitTID(t.TID, false)
	switch {
	case err == syscall.ECHILD && t.TID != w.g.PID:
		w.vanished(t)
	case err == nil && s.Kind != ptrace.KindNone:
		w.g.Tracer.report(s, nil)
	}
}

// waitFor sleeps until one thread has a wait status. When that takes long, wait statuses
// of the others are handled too: the thread may be waiting for one of them.
func (w *Waiter) waitFor(t *Thread, wanted func(*Thread) bool, tick func()) {
	defer w.g.Alarm.start()()
	for start := time.Now(); !w.g.phase.Over() && wanted(t); {
		if w.g.Reports.own == t.TID || len(w.g.Reports.stolen) > 0 {
			w.drain()
			if wanted(t) {
				w.g.Tracer.report(w.g.Reports.wait(true))
			}
			if time.Since(start) > RingAgain {
				tick()
			}
			continue
		}
		s, err := w.g.Reports.waitTID(t.TID, true)
		if err == nil && s.Kind != ptrace.KindNone { // none: it was killed in its stop
			w.g.Tracer.report(s, nil)
			return
		}
		w.drain()
		if err == syscall.ECHILD && wanted(t) && w.g.Has(t) {
			if t.TID != w.g.PID {
				w.vanished(t)
				return
			}
			w.g.Tracer.report(w.g.Reports.wait(true)) // only its end explains that
			return
		}
		if time.Since(start) > RingAgain {
			tick()
		}
	}
}

// vanished removes the record of a thread that cannot be waited for any more: an exec has
// ended it, or has given it the leader's number. In either case the former leader is gone, even
// where it was held or had been detached before. The thread that takes its number is traced if
// it was traced before, and reports the exec.
func (w *Waiter) vanished(t *Thread) {
	w.g.Drop(t)
	if t.Role != RoleThread || !w.g.Seizer.leaderIsOurs() {
		return
	}
	leader := w.g.Threads[w.g.PID]
	switch {
	case leader == nil:
		w.g.Add(w.g.PID, RoleThread, StateRunning)
	case leader.M.state == StateStopped && !w.stands(leader):
		w.g.Drop(leader)
		w.g.Add(w.g.PID, RoleThread, StateRunning)
	}
}

// stands reports whether a thread is still in the stop that it has reported. Another thread that has taken its
// number by execve(2) runs, or has a wait status of its own.
func (w *Waiter) stands(t *Thread) bool {
	var regs ptrace.Regs
	s, err := ptrace.PeekTID(t.TID, false)
	return err == nil && (s.Kind == ptrace.KindNone || w.g.Reports.stands(t.TID)) && ptrace.GetRegs(t.TID, &regs) == nil
}
