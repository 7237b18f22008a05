package control

import (
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// hold makes one thread stop and stay.
func (g *tracees) hold(t *thread) {
	a := t.m.hold()
	g.trace.did(t, deedHold, 0, nil)
	g.interrupt(t, a)
}

func (g *tracees) interrupt(t *thread, a action) {
	if a == actInterrupt {
		err := ptrace.Interrupt(t.tid) // ESRCH: it is going, its end will be reported
		g.trace.did(t, deedInterrupt, 0, err)
	}
}

// arrived notes that a thread which was waited for has stopped, or never will.
func (g *tracees) arrived(t *thread) {
	if t.m.stand() {
		g.trace.did(t, deedStand, 0, nil)
	}
}

// waitsInVfork notes that a thread waits for its child in vfork(2), or is about to.
func (g *tracees) waitsInVfork(t *thread) {
	t.m.vfork()
	g.trace.did(t, deedVfork, 0, nil)
}

// stopAll stops every thread that can be stopped, and takes the breakpoints out of
// the text when all stand. Calls nest; resumeAll undoes one.
func (g *tracees) stopAll() {
	g.holds++
	if g.holds == 1 && len(g.threads) >= manyThreads {
		g.stopSleepers()
	}
	g.stopRest()
}

// stopAtOnce is stopAll for a stop so short that asking who sleeps would take longer.
func (g *tracees) stopAtOnce() {
	g.holds++
	g.stopRest()
}

func (g *tracees) stopRest() {
	for _, t := range g.threads {
		if t.role != roleCopy && t.m.holds == 0 {
			g.hold(t)
		}
	}
	g.await(stuckFor)
	g.seizer.seizeNewborn()
	// A forked process has our traps, and is cleaned of those that the table still knows.
	if g.waiter.until(func() bool { return !g.copies() }, nil) {
		g.up.allStopped()
		g.steady()
	}
}

// steady makes the kernel's registers of all stopped threads what they are to run on
// with, as they would when we are killed: a thread that has hit a trap then makes its
// instruction. The SIGTRAP itself is not delivered any more once it was reported.
func (g *tracees) steady() {
	for _, t := range g.threads {
		if t.m.state == stateStopped {
			g.flushRegs(t)
		}
	}
}

// manyThreads is from how many threads on it is worth asking which of them sleep.
const manyThreads = 16

// stopSleepers stops the threads that sleep, and returns when they stand: each has to
// be woken for that, which those that run need not wait for. A thread that falls asleep
// or wakes up meanwhile waits a little longer, or less. The others run on, over
// breakpoints too, whose handlers may want to stop everybody themselves.
func (g *tracees) stopSleepers() {
	for _, t := range g.threads {
		if t.role != roleThread || t.m.holds > 0 || t.m.state != stateRunning {
			continue
		}
		if st, err := procfs.ReadTaskStat(g.pid, t.tid); err == nil && st.State != 'R' {
			g.hold(t)
		}
	}
	g.await(stuckFor)
}

// await handles reports until no thread is waited for, or those that are left have
// been found stuck so often.
func (g *tracees) await(patience int) {
	for before := g.awaited(); before > 0 && !g.phase.over(); before = g.awaited() {
		pending := make([]*thread, 0, before)
		for _, t := range g.threads {
			if t.m.awaits == awaitStop {
				pending = append(pending, t)
			}
		}
		g.waiter.collect(pending, func(t *thread) bool { return t.m.awaits == awaitStop }, func() {
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
func (g *tracees) awaited() (n int) {
	for _, t := range g.threads {
		if t.m.awaits == awaitStop {
			n++
		}
	}
	return n
}

// resumeAll undoes one stopAll. A rendezvous that was asked for while threads were being
// stopped begins now.
func (g *tracees) resumeAll() {
	g.news.resumesAll()
	if g.phase.over() {
		return
	}
	g.holds--
	if g.holds > 0 {
		return
	}
	g.up.allRun()
	all := g.runnersFirst()
	for _, t := range all {
		g.arrived(t)
		if t.m.holds > 0 {
			g.change(t, deedUnhold, t.m.unhold())
		}
	}
	// Stepping one of them off its breakpoint may stop all once more.
	for _, t := range all {
		g.settle(t)
	}
}
