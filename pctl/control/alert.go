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
func (c *Controller) stayAlert() bool {
	c.refreshSetBacks()
	if c.watch == nil || c.spin.often || len(c.setBacks) == 0 {
		return false
	}
	c.alert.thread.On()
	return true
}

// beAlert is called before a wait.
func (c *Controller) beAlert() {
	a := &c.alert
	if !c.stayAlert() {
		return
	}
	if a.hit != 0 {
		if st, err := procfs.ReadTaskStat(c.pid, a.hit); err == nil {
			a.cpu = st.Processor
		}
		a.hit = 0
	}
	a.thread.Keep(a.cpu)
}

// calmFor ends it for a report that is not dealt with at once.
func (c *Controller) calmFor(s ptrace.Stop, err error) {
	switch {
	case err != nil:
	case s.Kind == ptrace.KindSignal && s.Signal == syscall.SIGTRAP,
		s.Kind == ptrace.KindClone && c.opt.OnThreadStart == nil,
		s.Kind == ptrace.KindEventStop:
		return
	}
	c.alert.thread.Off()
}
