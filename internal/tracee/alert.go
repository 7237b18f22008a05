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
func (w *Waiter) StayAlert() bool {
	w.g.Reports.refreshSetBacks()
	if w.g.Memory.Watch == nil || w.g.Spin.often || len(w.g.Reports.setBacks) == 0 {
		return false
	}
	w.g.Alert.Thread.On()
	return true
}

// beAlert is called before a wait.
func (w *Waiter) beAlert() {
	a := &w.g.Alert
	if !w.StayAlert() {
		return
	}
	if a.Hit != 0 {
		if st, err := procfs.ReadTaskStat(w.g.PID, a.Hit); err == nil {
			a.cpu = st.Processor
		}
		a.Hit = 0
	}
	a.Thread.Keep(a.cpu)
}

// calmFor ends it for a report that is not dealt with at once.
func (w *Waiter) calmFor(s ptrace.Stop, err error) {
	switch {
	case err != nil:
	case s.Kind == ptrace.KindSignal && s.Signal == syscall.SIGTRAP,
		s.Kind == ptrace.KindClone && !w.SlowBirth,
		s.Kind == ptrace.KindEventStop:
		return
	}
	w.g.Alert.Thread.Off()
}
