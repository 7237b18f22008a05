package control

import "slices"

// phase is how far control of a process has come.
type phase uint8

const (
	// phaseAttaching: its threads are being seized.
	phaseAttaching phase = iota
	// phaseStarting: created by us, in front of its first exec.
	phaseStarting
	// phaseRunning: under control.
	phaseRunning
	// phaseStopping: it is to be left stopped, by a SIGSTOP of ours.
	phaseStopping
	// phaseDetaching: each thread is detached as soon as it stops.
	phaseDetaching
	// phaseEnding: the process is gone. Others that were traced for its sake are let go.
	phaseEnding
	// phaseEndDetaching: likewise, each as soon as it stops.
	phaseEndDetaching
	// phaseReleased: it has been let go, and runs or is killed. From here on control is over.
	phaseReleased
	// phaseLeftStopped: it has been let go, and stands.
	phaseLeftStopped
	// phaseEnded: it has ended, or was lost.
	phaseEnded
)

var phaseNames = [...]string{
	"attaching", "starting", "running", "stopping", "detaching", "ending", "end-detaching", "released", "left-stopped", "ended",
}

func (p phase) String() string { return phaseNames[p] }

// over reports that nothing is controlled any more.
func (p phase) over() bool { return p >= phaseReleased }

// gone reports that the process has ended.
func (p phase) gone() bool { return p == phaseEnding || p == phaseEndDetaching || p == phaseEnded }

// detaches reports that a thread is detached as soon as it stops.
func (p phase) detaches() bool { return p == phaseDetaching || p == phaseEndDetaching }

// laterPhases has what may follow each phase before control is over, which it may be at any time.
var laterPhases = [...][]phase{
	phaseAttaching:    {phaseStarting, phaseRunning, phaseDetaching, phaseEnding},
	phaseStarting:     {phaseRunning, phaseDetaching, phaseEnding},
	phaseRunning:      {phaseStopping, phaseDetaching, phaseEnding},
	phaseStopping:     {phaseDetaching, phaseEnding},
	phaseDetaching:    {phaseEndDetaching},
	phaseEnding:       {phaseEndDetaching},
	phaseEndDetaching: {},
}

// leadsTo reports whether another phase may follow.
func (p phase) leadsTo(next phase) bool {
	return !p.over() && (next.over() || slices.Contains(laterPhases[p], next))
}

// enter changes the phase. What cannot follow is refused, and the trace has that.
func (g *tracees) enter(p phase) {
	switch {
	case g.phase == p:
	case g.phase.leadsTo(p):
		g.phase = p
		g.trace.about(g.pid, deedPhase, uint64(p), nil)
	default:
		g.trace.about(g.pid, deedRefused, uint64(deedPhase), nil)
	}
}
