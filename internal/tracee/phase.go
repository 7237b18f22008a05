package tracee

import "slices"

// Phase is how far control of a process has come.
type Phase uint8

const (
	// PhaseAttaching: its threads are being seized.
	PhaseAttaching Phase = iota
	// PhaseStarting: created by us, and has not made its first exec.
	PhaseStarting
	// PhaseRunning: under control.
	PhaseRunning
	// PhaseStopping: it is to be left stopped, by a SIGSTOP of ours.
	PhaseStopping
	// PhaseDetaching: each thread is detached as soon as it stops.
	PhaseDetaching
	// PhaseEnding: the process is gone. Other processes that were traced because of it are released.
	PhaseEnding
	// PhaseEndDetaching: the same, and each thread of those is detached as soon as it stops.
	PhaseEndDetaching
	// PhaseReleased: the process has been released, and runs or is killed. Control is over from here on.
	PhaseReleased
	// PhaseLeftStopped: the process has been released, and is stopped.
	PhaseLeftStopped
	// PhaseEnded: it has ended, or was lost.
	PhaseEnded
)

var phaseNames = [...]string{
	"attaching", "starting", "running", "stopping", "detaching", "ending", "end-detaching", "released", "left-stopped", "ended",
}

func (p Phase) String() string { return phaseNames[p] }

// Over reports that nothing is controlled any more.
func (p Phase) Over() bool { return p >= PhaseReleased }

// Gone reports that the process has ended.
func (p Phase) Gone() bool { return p == PhaseEnding || p == PhaseEndDetaching || p == PhaseEnded }

// Detaches reports that a thread is detached as soon as it stops.
func (p Phase) Detaches() bool { return p == PhaseDetaching || p == PhaseEndDetaching }

// laterPhases lists the phases that may follow each one before control is over. A phase of [Phase.Over] may follow any of
// them.
var laterPhases = [...][]Phase{
	PhaseAttaching:    {PhaseStarting, PhaseRunning, PhaseDetaching, PhaseEnding},
	PhaseStarting:     {PhaseRunning, PhaseDetaching, PhaseEnding},
	PhaseRunning:      {PhaseStopping, PhaseDetaching, PhaseEnding},
	PhaseStopping:     {PhaseDetaching, PhaseEnding},
	PhaseDetaching:    {PhaseEndDetaching},
	PhaseEnding:       {PhaseEndDetaching},
	PhaseEndDetaching: {},
}

// leadsTo reports whether next may follow p.
func (p Phase) leadsTo(next Phase) bool {
	return !p.Over() && (next.Over() || slices.Contains(laterPhases[p], next))
}

// Enter changes the phase. A phase that cannot follow the present one is refused, and the trace records that.
func (g *Group) Enter(p Phase) {
	switch {
	case g.phase == p:
	case g.phase.leadsTo(p):
		g.phase = p
		if p.Over() {
			g.Tracer.over = append(g.Tracer.over, g)
		}
		g.Trace.About(g.PID, DeedPhase, uint64(p), nil)
	default:
		g.Trace.About(g.PID, DeedRefused, uint64(DeedPhase), nil)
	}
}

// Phase returns how far control of the process has come.
func (g *Group) Phase() Phase { return g.phase }
