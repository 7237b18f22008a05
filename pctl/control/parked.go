package control

import (
	"time"

	"ptools/internal/procfs"
)

// unresponsive reports whether a thread that was interrupted cannot answer now, and
// may be left alone until it can.
func (g *tracees) unresponsive(t *thread, patience int) bool {
	if g.up.answers(t) {
		return false
	}
	st, err := procfs.ReadTaskStat(g.pidOf(t), t.tid)
	switch {
	case err != nil: // gone: its wait status comes
		return false
	case st.State == 'Z' || st.State == 'X':
		return true
	case st.State == 'D':
		t.stuck++
		return t.stuck >= patience
	}
	t.stuck = 0
	return false
}

// Short uninterruptible sleeps are everyday: for a page, for a lock. A thread counts
// as stuck when it is found in one so often in a row, at intervals of a millisecond.
// Before it is left behind for good it is given more time: an interrupt that is on its
// way when the kernel lets go of it could end its system call.
const (
	stuckFor        = 4
	stuckForLeaving = 100
)

// park gives up waiting for a thread that cannot stop now. It runs no code of its
// own, and the interrupt that was sent stops it before it does.
func (g *tracees) park(t *thread) { g.change(t, deedPark, t.m.park()) }

// parkStuck gives up on threads that have been found stuck so often, and on those that are given no processor.
func (g *tracees) parkStuck(patience int) {
	for _, t := range g.threads {
		if t.m.awaits == awaitStop && (g.unresponsive(t, patience) || g.starvedOut(t, patience)) {
			g.park(t)
		}
	}
}

// expect has a thread waited for that was not, or no more.
func (g *tracees) expect(t *thread) { g.change(t, deedExpect, t.m.expect()) }

// How long a thread has to be found waiting for a processor before it is left to the kernel, or parked.
const (
	starvedForLeaving = 200 * time.Millisecond
	starvedForPark    = 500 * time.Millisecond
)

// starved reports whether a thread that was interrupted for a look has been given no processor for so long that it
// is left to the kernel. A look interrupts threads that run, and it has not run since: all that it may lose is the rest of
// a call in which the kernel had preempted it. One that would be killed with us is waited for.
func (l *leaver) starved(t *thread) bool {
	return l.g.mode != ModeKill && l.g.starving(t) >= starvedForLeaving
}

// starving returns for how long a thread that was interrupted has been found waiting for a processor.
func (g *tracees) starving(t *thread) time.Duration {
	if !t.m.asked || t.m.state != stateRunning {
		return 0
	}
	pid := g.pidOf(t)
	st, err := procfs.ReadTaskStat(pid, t.tid)
	if err != nil || st.State != 'R' {
		t.starved = 0
		return 0
	}
	now := procfs.Monotonic()
	sched, err := procfs.ReadTaskSchedStat(pid, t.tid)
	if err != nil || sched != t.sched || t.starved == 0 {
		t.starved, t.sched = now, sched
	}
	return now - t.starved
}

// starvedOut reports whether a thread has been given no processor for so long that it is parked: it stops before
// it executes an instruction. Not where it may have executed a trap of ours that it has not reported, nor one that is to
// be let go and would be killed with us.
func (g *tracees) starvedOut(t *thread, patience int) bool {
	if patience == stuckForLeaving && g.mode == ModeKill {
		return false
	}
	return g.starving(t) >= starvedForPark && !g.up.trapDue(t)
}
