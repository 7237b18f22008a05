package control

import (
	"syscall"
	"time"

	"ptools/internal/ptrace"
)

// waiter waits for reports and has them dealt with.
type waiter struct {
	g         *tracees
	slowBirth bool // a client is called at each birth of a thread
}

// poll returns a report that is there already or, where that has paid lately, comes
// within the next moment.
func (w *waiter) poll() (ptrace.Stop, error) {
	if len(w.g.reports.stolen) > 0 {
		return w.g.reports.pollNow()
	}
	if w.g.reports.own || !w.g.spin.worthwhile() {
		return ptrace.Stop{}, nil
	}
	w.g.alert.thread.Off()
	for start := time.Now(); ; {
		s, err := w.g.reports.wait(false)
		if err != nil || s.Kind != ptrace.KindNone {
			w.g.spin.hit()
			return s, err
		}
		if w.g.requests.queued() {
			return s, nil
		}
		if time.Since(start) > spinFor {
			w.g.spin.miss()
			return s, nil
		}
	}
}

// report handles what wait returned.
func (w *waiter) report(s ptrace.Stop, err error) {
	switch {
	case err == syscall.EINTR:
		w.g.latency.check()
	case err != nil:
		w.g.news.lost(err)
	case s.Kind != ptrace.KindNone:
		w.g.dispatch(s)
		w.g.reports.read()
	}
}

// until handles reports until cond holds. tick, unless nil, is called every
// millisecond or so meanwhile. Requests stay queued. It returns false if the target
// ended first.
func (w *waiter) until(cond func() bool, tick func()) bool {
	w.g.reports.read()
	ringing := false
	for !w.g.phase.over() && !cond() {
		if s, err := w.poll(); err != nil || s.Kind != ptrace.KindNone {
			w.report(s, err)
			continue
		}
		if tick != nil && !ringing {
			ringing = true
			defer w.g.alarm.start()()
		}
		s, err := w.g.reports.wait(true)
		w.report(s, err)
		if tick != nil && err == syscall.EINTR {
			tick()
		}
	}
	return !w.g.phase.over()
}

// dispatch gives one report to the method that knows its kind, then lets the thread
// go on unless somebody holds it.
func (g *tracees) dispatch(s ptrace.Stop) {
	t := g.threads[s.TID]
	if t == nil {
		if t = g.births.adopt(s); t == nil {
			return
		}
	}
	if s.Kind.Ended() {
		g.trace.heard(t, s)
		g.news.ended(t, s)
		return
	}
	if t.m.position == posStepping || t.m.position == posTrapDue {
		g.reports.read() // ours, and it ends the target if it is left
	}
	means := t.m.stop(s)
	g.trace.heard(t, s)
	t.known, t.stuck = regsUnread, 0
	if s.Back {
		g.reports.takeBack(t)
	}
	if t.role == roleCopy {
		g.up.copied(t)
		return
	}
	g.up.stopped(t, s)
	t.busy = true
	if means == meansBorn {
		g.up.begins(t)
	}
	switch s.Kind {
	case ptrace.KindSignal:
		g.up.signalled(t)
	case ptrace.KindGroupStop:
		g.group.groupStopped(t, s.Signal)
	case ptrace.KindEventStop:
		g.eventStopped(t, means)
	case ptrace.KindClone, ptrace.KindFork, ptrace.KindVfork:
		g.births.birth(t, s.Kind)
	case ptrace.KindExec:
		if t = g.news.execed(t); t == nil {
			return
		}
	}
	t.busy = false
	g.settle(t)
}

// settle is called when everything about a stop has been done but to leave it.
func (g *tracees) settle(t *thread) {
	if t.busy || t.m.state != stateStopped || !g.has(t) {
		return
	}
	if t.look != nil {
		g.looks.visit(t)
	}
	if !g.up.settles(t) {
		return
	}
	held := t.m.holds > 0
	if held {
		g.arrived(t)
	}
	switch {
	case t.child != nil, held && g.phase.detaches(), g.births.unannounced(t):
	case g.phase.detaches():
		g.leaver.part(t)
	case g.up.standsAlone(t), held:
	default:
		g.resume(t)
	}
}

// resume lets a stopped thread run that is not held.
func (g *tracees) resume(t *thread) { g.run(t, (*machine).settle) }

// runOn resumes a stopped thread to its next stop, where it stays if it is held, and waits for that, or its end.
func (g *tracees) runOn(t *thread) {
	g.run(t, (*machine).pass)
	g.waiter.until(func() bool { return t.m.state == stateStopped || !g.has(t) }, nil)
}

// run resumes a stopped thread, off the breakpoint it stands on first.
func (g *tracees) run(t *thread, next func(*machine) action) {
	if t.m.position == posAtTrap && !g.up.resumes(t) {
		return // a single step is under way
	}
	lent := g.calls.grant(t)
	g.flushRegs(t)
	var err error
	switch next(&t.m) {
	case actCont:
		g.group.resumed = g.group.resumed && !beginsStop(t.m.signal)
		g.reports.resuming(t)
		err = ptrace.Cont(t.tid, t.m.signal)
		d := deedCont
		if t.m.holds > 0 {
			d = deedPass
		}
		g.trace.did(t, d, uint64(t.m.signal), err)
		g.calls.repay(t, lent)
	case actListen:
		g.group.spare(t)
		g.reports.resuming(t)
		err = ptrace.Listen(t.tid)
		g.trace.did(t, deedListen, 0, err)
		if err == nil {
			g.group.listens(t)
		}
	}
	// ESRCH: the thread is being killed; its end will be reported.
	_ = err
	t.known = regsUnread
}

// drain handles the reports that are there.
func (w *waiter) drain() {
	for !w.g.phase.over() {
		s, err := w.g.reports.pollNow()
		if err != nil || s.Kind == ptrace.KindNone {
			return
		}
		w.report(s, nil)
	}
}

// eventStopped handles PTRACE_EVENT_STOP: a birth, our interrupt, or the end of a
// group stop.
func (g *tracees) eventStopped(t *thread, means meaning) {
	switch means {
	case meansBorn:
	case meansContinued:
		g.group.unspare(t)
		if t.role == roleThread && g.group.stopSignal.Load() != 0 && t.groupStop == g.group.stopCount {
			g.group.resumed = true
			g.group.stopSignal.Store(0)
			g.news.groupStop(t, syscall.SIGCONT)
		}
	default:
		if g.up.interrupted(t) {
			g.calls.rewind(t)
		}
	}
}

// takeSignal keeps a signal of ours from the thread that is stopped for it.
func (g *tracees) takeSignal(t *thread) {
	if sig := t.m.take(); sig != 0 {
		g.trace.did(t, deedTake, uint64(sig), nil)
	}
}
