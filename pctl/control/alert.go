package control

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// alert has the control thread answer traps of a target that is to outlive us as soon as can
// be: it waits on the processor of the thread that hit last, and goes ahead of ordinary
// threads. From the trap to the setting back our death is the target's, and most of that time
// this thread only waits for a processor. While hits follow each other closely it polls for
// them, and has to be elsewhere. Functions of clients, and what may take long, run as usual.
type alert struct {
	thread ptrace.Alert
	hit    int // thread that has hit since cpu was read, 0: none
	cpu    int
}

// stayAlert reports whether this thread is to be alert, and makes it.
func (w *waiter) stayAlert() bool {
	w.g.reports.refreshSetBacks()
	if w.g.memory.watch == nil || w.g.spin.often || len(w.g.reports.setBacks) == 0 {
		return false
	}
	w.g.alert.thread.On()
	return true
}

// beAlert is called before a wait.
func (w *waiter) beAlert() {
	a := &w.g.alert
	if !w.stayAlert() {
		return
	}
	if a.hit != 0 {
		if st, err := procfs.ReadTaskStat(w.g.pid, a.hit); err == nil {
			a.cpu = st.Processor
		}
		a.hit = 0
	}
	a.thread.Keep(a.cpu)
}

// calmFor ends it for a report that is not dealt with at once.
func (w *waiter) calmFor(s ptrace.Stop, err error) {
	switch {
	case err != nil:
	case s.Kind == ptrace.KindSignal && s.Signal == syscall.SIGTRAP,
		s.Kind == ptrace.KindClone && !w.slowBirth,
		s.Kind == ptrace.KindEventStop:
		return
	}
	w.g.alert.thread.Off()
}
