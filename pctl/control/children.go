package control

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// newborns finds out what new threads are.
type newborns struct {
	g     *tracees
	early map[int]role // seen before their creator's event announced them
}

// adopt makes a record for a thread that reports a stop before its creator's event
// has announced it: the kernel wakes both and either may come first. What it is can
// be told without the announcement. It returns nil for one that is gone already.
func (b *newborns) adopt(s ptrace.Stop) *thread {
	if s.TID == b.g.pid {
		// The leader was dead when we came, and another thread has taken its number
		// by execve(2), or the last of the others has ended.
		if s.Kind.Ended() {
			b.g.trace.heard(nil, s)
			b.g.news.ended(&thread{tid: b.g.pid}, s)
			return nil
		}
		return b.g.add(b.g.pid, roleThread, stateRunning)
	}
	if s.Kind.Ended() {
		b.g.trace.heard(nil, s)
		b.early[s.TID] = roleCopy
		return nil
	}
	var regs ptrace.Regs
	_ = ptrace.GetRegs(s.TID, &regs) // ESRCH: being killed, so it runs no code
	r := b.classify(s.TID, s.TID, &regs)
	b.early[s.TID] = r
	return b.g.add(s.TID, r, stateBorn)
}

// classify finds out what a new thread is: one of the target's, or of another
// process, which shares the target's memory or has a copy of it. regs are those of the
// stopped thread tid, the creator or the new thread itself: they show the system call.
// kcmp(2) would tell as well, but filters of system calls deny it, and it takes the
// memory of a dead leader for another one.
func (b *newborns) classify(child, tid int, regs *ptrace.Regs) role {
	if b.isThread(child) {
		return roleThread
	}
	flags, err := regs.CloneFlags(ptrace.Memory{TID: tid})
	shares := flags&ptrace.CloneVM != 0
	if err != nil { // the arguments of clone3(2) are not there any more, or it is being killed
		shares, err = b.g.seizer.compare(child)
	}
	if err == nil && !shares {
		return roleCopy
	}
	return roleSharer
}

// isThread reports whether a living thread belongs to the target. EPERM, of a target that we may trace
// and not signal, is the answer for one that does.
func (b *newborns) isThread(tid int) bool {
	switch ptrace.Kill(b.g.pid, tid, 0) {
	case nil:
		return true
	case syscall.ESRCH:
		return false
	}
	_, err := procfs.ReadTaskStat(b.g.pid, tid)
	return err == nil
}

// birth handles the event of a thread that has made another thread or process.
func (b *newborns) birth(t *thread, kind ptrace.Kind) {
	msg, err := ptrace.EventMsg(t.tid)
	if err != nil {
		return // being killed
	}
	child := int(msg)
	r, early := b.early[child]
	if early {
		delete(b.early, child)
	} else {
		if b.g.loadRegs(t) != nil {
			return // being killed: the child tells what it is
		}
		r = b.classify(child, t.tid, &t.regs)
		if _, err := ptrace.PeekTID(child, false); err == syscall.ECHILD {
			b.takeUnattached(child, r)
		} else {
			born := b.g.add(child, r, stateBorn)
			if r == roleCopy {
				t.child, born.creator = born, t
			}
		}
	}
	if kind == ptrace.KindVfork {
		b.g.waitsInVfork(t)
	}
	if t.role == roleThread {
		b.g.news.born(t, child, r, kind)
	}
	if early {
		b.announced(child)
	}
}

// takeUnattached is for a new thread or process that is not traced although its creator reports it. The kernel
// decides that there will be an event when the creator enters the call, whether the new one is attached in the middle of it, and
// whom the event is for at its end. Another tracer may have let go between the first two, and we have
// seized the creator before the third (kernel_clone, ptrace_init_task). A copy has no traps then: there
// are none before the creator has stopped.
func (b *newborns) takeUnattached(child int, r role) {
	switch r {
	case roleThread:
		r := newReaper()
		defer r.close()
		b.g.seizer.seizePass([]int{child}, r) // refused: of another owner since, as in seizeNewborn
	case roleSharer:
		if b.g.seizer.seizeOne(child) == nil { // otherwise seizeSharers refuses
			b.g.add(child, roleSharer, stateRunning)
		}
	}
}

// childGone lets the creator of a process go on, which stands in the event of its birth until the
// child is let go: it may trace its children itself, and there is but one tracer at a time.
func (b *newborns) childGone(creator *thread) {
	if creator != nil {
		creator.child = nil
		b.g.settle(creator)
	}
}
