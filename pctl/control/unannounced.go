package control

import "ptools/internal/ptrace"

// unannounced reports whether a new thread has to wait for its creator's event: OnThreadStart is told of it while
// the process is there, which the new thread could end (internal/sample, TestThreadThatEnds). The kernel wakes the new
// thread first, and its stop may be reported first. The event comes, or both are killed.
func (b *newborns) unannounced(t *thread) bool {
	if !b.g.waiter.slowBirth || t.role != roleThread || b.g.phase.detaches() {
		return false
	}
	if _, early := b.early[t.tid]; !early || b.g.loadRegs(t) != nil {
		return false
	}
	flags, err := t.regs.CloneFlags(ptrace.Memory{TID: t.tid})
	return err == nil && flags&ptrace.CloneUntraced == 0 // that with CLONE_PTRACE is traced, and has no event
}

// announced lets a new thread run that has waited for its creator's event.
func (b *newborns) announced(child int) {
	if t := b.g.threads[child]; t != nil && t.role == roleThread {
		b.g.settle(t)
	}
}
