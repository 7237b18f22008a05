package tracee

import (
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Hold makes one thread stop and stay.
func (g *Group) Hold(t *Thread) {
	a := t.M.hold()
	g.Trace.Did(t, DeedHold, 0, nil)
	g.Interrupt(t, a)
}

func (g *Group) Interrupt(t *Thread, a Action) {
	if a == ActInterrupt {
		err := ptrace.Interrupt(t.TID) // ESRCH: it is going, its end will be reported
		g.Trace.Did(t, DeedInterrupt, 0, err)
	}
}

// Arrived notes that a thread which was waited for has stopped, or never will.
func (g *Group) Arrived(t *Thread) {
	if t.M.stand() {
		g.Trace.Did(t, DeedStand, 0, nil)
	}
}

// waitsInVfork notes that a thread waits for its child in vfork(2), or is about to.
func (g *Group) waitsInVfork(t *Thread) {
	t.M.vfork()
	g.Trace.Did(t, DeedVfork, 0, nil)
}

// StopAll stops every thread that can be stopped, and takes the breakpoints out of
// the text when all stand. Calls nest; ResumeAll undoes one.
func (g *Group) StopAll() {
	g.Holds++
	if g.Holds == 1 && len(g.Threads) >= manyThreads {
		g.stopSleepers()
	}
	g.stopRest()
}

// StopAtOnce is StopAll for a stop so short that asking who sleeps would take longer.
func (g *Group) StopAtOnce() {
	g.Holds++
	g.stopRest()
}

func (g *Group) stopRest() {
	for _, t := range g.Threads {
		if t.Role != RoleCopy && t.M.holds == 0 {
			g.Hold(t)
		}
	}
	g.Await(StuckFor)
	g.Seizer.seizeNewborn()
	// A forked process has our traps, and is cleaned of those that the table still knows.
	if g.Waiter.Until(func() bool { return !g.Leaver.Copies() }, nil) {
		g.up.AllStopped()
		g.steady()
	}
}

// steady makes the kernel's registers of all stopped threads what they are to run on
// with, as they would when we are killed: a thread that has hit a trap then makes its
// instruction. The SIGTRAP itself is not delivered any more once it was reported.
func (g *Group) steady() {
	for _, t := range g.Threads {
		if t.M.state == StateStopped {
			g.FlushRegs(t)
		}
	}
}

// manyThreads is from how many threads on it is worth asking which of them sleep.
const manyThreads = 16

// stopSleepers stops the threads that sleep, and returns when they stand: each has to
// be woken for that, which those that run need not wait for. A thread that falls asleep
// or wakes up meanwhile waits a little longer, or less. The others run on, over
// breakpoints too, whose handlers may want to stop everybody themselves.
func (g *Group) stopSleepers() {
	for _, t := range g.Threads {
		if t.Role != RoleThread || t.M.holds > 0 || t.M.state != StateRunning {
			continue
		}
		if st, err := procfs.ReadTaskStat(g.PID, t.TID); err == nil && st.State != 'R' {
			g.Hold(t)
		}
	}
	g.Await(StuckFor)
}

// Await handles reports until no thread is waited for, or those that are left have
// been found stuck so often.
func (g *Group) Await(patience int) {
	for before := g.awaited(); before > 0 && !g.phase.Over(); before = g.awaited() {
		pending := make([]*Thread, 0, before)
		for _, t := range g.Threads {
			if t.M.awaits == AwaitStop {
				pending = append(pending, t)
			}
		}
		g.Waiter.collect(pending, func(t *Thread) bool { return t.M.awaits == AwaitStop }, func() {
			// As long as some stop, the others are only waiting for a processor.
			now := g.awaited()
			if now == before {
				g.parkStuck(patience)
				now = g.awaited()
			}
			before = now
		})
	}
}

// awaited returns how many threads are waited for.
func (g *Group) awaited() (n int) {
	for _, t := range g.Threads {
		if t.M.awaits == AwaitStop {
			n++
		}
	}
	return n
}

// ResumeAll undoes one StopAll. A rendezvous that was asked for while threads were being
// stopped begins now.
func (g *Group) ResumeAll() {
	g.news.ResumesAll()
	if g.phase.Over() {
		return
	}
	g.Holds--
	if g.Holds > 0 {
		return
	}
	g.up.AllRun()
	all := g.RunnersFirst()
	for _, t := range all {
		g.Arrived(t)
		if t.M.holds > 0 {
			g.Change(t, DeedUnhold, t.M.Unhold())
		}
	}
	// Stepping one of them off its breakpoint may stop all once more.
	for _, t := range all {
		g.Settle(t)
	}
}
