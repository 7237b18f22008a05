package tracee

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Alert has the control thread answer traps of a target that is to outlive us as soon as can
// be: it waits on the processor of the thread that hit last, and goes ahead of ordinary
// threads. From the trap to the setting back our death is the target's, and most of that time
// this thread only waits for a processor. While hits follow each other closely it polls for
// them, and has to be elsewhere. Functions of clients, and what may take long, run as usual.
type Alert struct {
	Thread ptrace.Alert
	Hit    int // thread that has hit since cpu was read, 0: none
	cpu    int
}

// StayAlert reports whether this thread is to be alert, and makes it.
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

// calmFor ends it for a report that is not dealt with at once.
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
