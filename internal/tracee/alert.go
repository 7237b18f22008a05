package tracee

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Alert makes the control thread react to traps of a target that is to outlive us as soon as
// possible: it waits on the processor of the thread that hit last, with a priority above ordinary
// threads. Between the trap and the setting back our death kills the target. For most of that
// time the control thread only waits for a processor. While hits follow each other closely it
// polls for them, so it has to be on another processor. Functions of clients, and whatever may
// take long, run without the priority.
type Alert struct {
	Thread ptrace.Alert
	Hit    int // thread that has hit since cpu was read; 0: none
	cpu    int
}

// StayAlert reports whether this thread is to be alert. If so, it makes it alert.
func (r *Tracer) StayAlert() bool {
	r.Reports.refreshSetBacks()
	if r.Guard == nil || r.Spin.often || len(r.Reports.setBacks) == 0 {
		return false
	}
	r.Alert.Thread.On()
	return true
}

// beAlert is called before a wait.
func (r *Tracer) beAlert() {
	a := &r.Alert
	if !r.StayAlert() {
		return
	}
	if a.Hit != 0 {
		if st, err := procfs.ReadTaskStat(a.Hit, a.Hit); err == nil {
			a.cpu = st.Processor
		}
		a.Hit = 0
	}
	a.Thread.Keep(a.cpu)
}

// calmFor ends the alert for a wait status whose handling may take long.
func (r *Tracer) calmFor(s ptrace.Stop, err error) {
	switch {
	case err != nil:
	case s.Kind == ptrace.KindSignal && s.Signal == syscall.SIGTRAP,
		s.Kind == ptrace.KindClone && !r.SlowBirth,
		s.Kind == ptrace.KindEventStop:
		return
	}
	r.Alert.Thread.Off()
}
