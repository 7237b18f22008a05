package tracee

import "ptools/internal/ptrace"

// unannounced reports whether a new thread has to wait for its creator's event. OnThreadStart has to be called while
// the process exists, and the new thread could end the process (internal/sample, TestThreadThatEnds). The kernel wakes
// the new thread first, so its stop may be reported first. The event comes, or both threads are killed.
func (b *Newborns) unannounced(t *Thread) bool {
	if !b.g.SlowBirth || t.Role != RoleThread || b.g.phase.Detaches() {
		return false
	}
	if _, early := b.g.Early[t.TID]; !early || b.g.LoadRegs(t) != nil {
		return false
	}
	flags, err := t.Regs.CloneFlags(ptrace.Memory{TID: t.TID})
	return err == nil && flags&ptrace.CloneUntraced == 0 // CLONE_UNTRACED with CLONE_PTRACE: is traced, and has no event
}

// announced resumes a new thread that has waited for its creator's event.
func (b *Newborns) announced(child int) {
	if t := b.g.Threads[child]; t != nil && t.Role == RoleThread {
		b.g.Settle(t)
	}
}
