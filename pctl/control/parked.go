package control

import "ptools/internal/procfs"

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

// parkStuck gives up on threads that have been found stuck so often.
func (g *tracees) parkStuck(patience int) {
	for _, t := range g.threads {
		if t.m.awaits == awaitStop && g.unresponsive(t, patience) {
			g.park(t)
		}
	}
}

// expect has a thread waited for that was not, or no more.
func (g *tracees) expect(t *thread) { g.change(t, deedExpect, t.m.expect()) }

// starvedForLeaving is how often in a row, at intervals of a millisecond, a thread is found waiting for a
// processor before it is left to the kernel.
const starvedForLeaving = 200

// starved reports whether a thread that was interrupted for a look has been given no processor for so long that it
// is left to the kernel. A look interrupts threads that run, and it has not run since: all that it may lose is the rest of
// a call in which the kernel had preempted it. One that would be killed with us is waited for.
func (l *leaver) starved(t *thread) bool {
	if !t.m.asked || t.m.state != stateRunning || l.g.mode == ModeKill {
		return false
	}
	pid := l.g.pidOf(t)
	st, err := procfs.ReadTaskStat(pid, t.tid)
	if err != nil || st.State != 'R' {
		t.starved = 0
		return false
	}
	sched, err := procfs.ReadTaskSchedStat(pid, t.tid)
	if err != nil || sched != t.sched {
		t.starved, t.sched = 0, sched
		return false
	}
	t.starved++
	return t.starved >= starvedForLeaving
}
