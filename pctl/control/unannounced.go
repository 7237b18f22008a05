package control

import "ptools/internal/ptrace"

// unannounced reports whether a new thread has to wait for its creator's event: OnThreadStart is told of it while
// the process is there, which the new thread could end (internal/sample, TestThreadThatEnds). The kernel wakes the new
// thread first, and its stop may be reported first. The event comes, or both are killed.
func (c *Controller) unannounced(t *thread) bool {
	if c.opt.OnThreadStart == nil || t.role != roleThread || c.parting {
		return false
	}
	if _, early := c.early[t.tid]; !early || c.loadRegs(t) != nil {
		return false
	}
	flags, err := t.regs.CloneFlags(ptrace.Memory{TID: t.tid})
	return err == nil && flags&ptrace.CloneUntraced == 0 // that with CLONE_PTRACE is traced, and has no event
}

// announced lets a new thread run that has waited for its creator's event.
func (c *Controller) announced(child int) {
	if t := c.threads[child]; t != nil && t.role == roleThread {
		c.settle(t)
	}
}
