package tracee

import (
	"sync/atomic"
	"syscall"

	"ptools/internal/ptrace"
)

// Waiter waits for wait statuses and has them handled.
type Waiter struct{ g *Group }

// Until handles wait statuses until cond holds. tick, unless nil, is called every
// millisecond or so meanwhile. Requests stay queued. Until returns false if control
// of the target has ended.
func (w *Waiter) Until(cond func() bool, tick func()) bool {
	w.g.Reports.keep()
	ringing := false
	for !w.g.phase.Over() && !cond() {
		if s, err := w.g.Tracer.poll(); err != nil || s.Kind != ptrace.KindNone {
			w.g.Tracer.report(s, err)
			continue
		}
		if tick != nil && !ringing {
			ringing = true
			defer w.g.Alarm.start()()
		}
		s, err := w.g.Reports.wait(true)
		w.g.Tracer.report(s, err)
		if tick != nil && err == syscall.EINTR {
			tick()
		}
	}
	return !w.g.phase.Over()
}

// Beside runs f on a goroutine of its own, and handles wait statuses until f has returned. It is for work that grows with the
// machine: stops of the target must not wait for it. If control of the target ends meanwhile, given is set.
func (w *Waiter) Beside(f func(given *atomic.Bool)) {
	var given atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(&given)
	}()
	w.Until(func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}, func() {}) // the ticks end a wait for wait statuses that do not come
	given.Store(true)
	<-done
}

// dispatch gives one wait status to the method for its kind, then resumes the thread
// unless it is held.
func (g *Group) dispatch(s ptrace.Stop) {
	t := g.Threads[s.TID]
	if t == nil {
		if t = g.Births.adopt(s); t == nil {
			return
		}
	}
	if s.Kind.Ended() {
		g.Trace.waited(t, s)
		g.news.Ended(t, s)
		return
	}
	if t.M.position == PosStepping || t.M.position == PosTrapDue {
		g.Reports.Read() // the SIGTRAP of our step: left unread it would end the target if we die
	}
	means := t.M.Stop(s)
	g.Trace.waited(t, s)
	t.Known, t.stuck = RegsUnread, 0
	if s.Back {
		g.Reports.takeBack(t)
	}
	if t.Role == RoleCopy {
		g.up.Copied(t)
		return
	}
	g.up.Stopped(t, s)
	t.busy = true
	if means == meansBorn {
		g.up.Begins(t)
	}
	switch s.Kind {
	case ptrace.KindSignal:
		g.up.Signalled(t)
	case ptrace.KindGroupStop:
		g.Group.groupStopped(t, s.Signal)
	case ptrace.KindEventStop:
		g.eventStopped(t, means)
	case ptrace.KindClone, ptrace.KindFork, ptrace.KindVfork:
		g.Births.birth(t, s.Kind)
	case ptrace.KindExec:
		if t = g.news.Execed(t); t == nil {
			return
		}
	}
	t.busy = false
	g.Settle(t)
}

// Settle leaves a stop, unless the thread is held. It is called when everything else about the stop has been done.
func (g *Group) Settle(t *Thread) {
	if t.busy || t.M.state != StateStopped || !g.Has(t) {
		return
	}
	if t.look != nil {
		g.Looks.visit(t)
	}
	t.busy = true // the owner may wait, and others be resumed meanwhile
	stays := g.up.Settles(t)
	if t.busy = false; !stays {
		return
	}
	held := t.M.holds > 0
	if held {
		g.Stopper.Arrived(t)
	}
	switch {
	case t.child != nil, held && g.phase.Detaches(), g.Births.unannounced(t):
	case g.phase.Detaches():
		g.Leaver.part(t)
	case g.up.StandsAlone(t), held:
	default:
		g.Resume(t)
	}
}

// Resume resumes a stopped thread that is not held.
func (g *Group) Resume(t *Thread) { g.run(t, (*Machine).settle) }

// RunOn resumes a stopped thread to its next stop, and waits for that, or for its end. A held thread stays in that stop.
func (g *Group) RunOn(t *Thread) {
	g.run(t, (*Machine).Pass)
	g.Waiter.Until(func() bool { return t.M.state == StateStopped || !g.Has(t) }, nil)
}

// run resumes a stopped thread. A thread at a breakpoint is stepped off it first.
func (g *Group) run(t *Thread, next func(*Machine) Action) {
	if t.M.position == PosAtTrap && !g.up.Resumes(t) {
		return // a single step is under way
	}
	g.Calls.grant(t)
	g.FlushRegs(t)
	var err error
	switch next(&t.M) {
	case ActCont:
		g.Group.resumed = g.Group.resumed && !beginsStop(t.M.signal)
		g.Reports.Resuming(t)
		err = ptrace.Cont(t.TID, t.M.signal)
		d := DeedCont
		if t.M.holds > 0 {
			d = DeedPass
		}
		g.Trace.Did(t, d, uint64(t.M.signal), err)
	case ActListen:
		g.Group.spare(t)
		g.Reports.Resuming(t)
		err = ptrace.Listen(t.TID)
		g.Trace.Did(t, DeedListen, 0, err)
		if err == nil {
			g.Group.listens(t)
		}
	}
	// ESRCH: the thread is being killed; its end will be reported.
	_ = err
	t.Known, t.Name = RegsUnread, ""
}

// drain handles the wait statuses that are there.
func (w *Waiter) drain() {
	for !w.g.phase.Over() {
		s, err := w.g.Reports.pollNow()
		if err != nil || s.Kind == ptrace.KindNone {
			return
		}
		w.g.Tracer.report(s, nil)
	}
}

// eventStopped handles PTRACE_EVENT_STOP: a birth, our interrupt, or the end of a
// group stop.
func (g *Group) eventStopped(t *Thread, means meaning) {
	switch means {
	case meansBorn:
	case meansContinued:
		g.Group.unspare(t)
		if t.Role == RoleThread && g.Group.StopSignal.Load() != 0 && t.groupStop == g.Group.stopCount {
			g.Group.resumed = true
			g.Group.StopSignal.Store(0)
			g.news.GroupStop(t, syscall.SIGCONT)
		}
	default:
		if g.up.Interrupted(t) {
			g.Calls.Rewind(t)
		}
	}
}

// TakeSignal suppresses a signal of ours, for whose delivery the thread is stopped.
func (g *Group) TakeSignal(t *Thread) {
	if sig := t.M.take(); sig != 0 {
		g.Trace.Did(t, DeedTake, uint64(sig), nil)
	}
}
