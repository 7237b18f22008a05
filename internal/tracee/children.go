package tracee

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Newborns finds out what new threads are.
type Newborns struct{ g *Group }

// adopt makes a record for a thread that reports a stop before its creator's event
// has announced it: the kernel wakes both and either may come first. What it is can
// be told without the announcement. It returns nil for one that is gone already.
func (b *Newborns) adopt(s ptrace.Stop) *Thread {
	if s.TID == b.g.PID {
		// The leader was dead when we came, and another thread has taken its number
		// by execve(2), or the last of the others has ended.
		if s.Kind.Ended() {
			b.g.Trace.waited(nil, s)
			b.g.news.Ended(&Thread{TID: b.g.PID, Above: b.g.up.Above()}, s)
			return nil
		}
		return b.g.Add(b.g.PID, RoleThread, StateRunning)
	}
	if s.Kind.Ended() {
		b.g.Trace.waited(nil, s)
		b.g.Early[s.TID] = Early{b.g, RoleCopy}
		return nil
	}
	var regs ptrace.Regs
	_ = ptrace.GetRegs(s.TID, &regs) // ESRCH: being killed, so it runs no code
	r := b.classify(s.TID, s.TID, &regs)
	b.g.Early[s.TID] = Early{b.g, r}
	return b.g.Add(s.TID, r, StateBorn)
}

// classify finds out what a new thread is: one of the target's, or of another
// process, which shares the target's memory or has a copy of it. regs are those of the
// stopped thread tid, the creator or the new thread itself: they show the system call.
// kcmp(2) would tell as well, but filters of system calls deny it, and it takes the
// memory of a dead leader for another one.
func (b *Newborns) classify(child, tid int, regs *ptrace.Regs) Role {
	if b.isThread(child) {
		return RoleThread
	}
	flags, err := regs.CloneFlags(ptrace.Memory{TID: tid})
	shares := flags&ptrace.CloneVM != 0
	if err != nil { // the arguments of clone3(2) are not there any more, or it is being killed
		shares, err = b.g.Seizer.compare(child)
	}
	if err == nil && !shares {
		return RoleCopy
	}
	return RoleSharer
}

// isThread reports whether a living thread belongs to the target. EPERM, of a target that we may trace
// and not signal, is the answer for one that does.
func (b *Newborns) isThread(tid int) bool {
	switch ptrace.Kill(b.g.PID, tid, 0) {
	case nil:
		return true
	case syscall.ESRCH:
		return false
	}
	_, err := procfs.ReadTaskStat(b.g.PID, tid)
	return err == nil
}

// birth handles the event of a thread that has made another thread or process.
func (b *Newborns) birth(t *Thread, kind ptrace.Kind) {
	msg, err := ptrace.EventMsg(t.TID)
	if err != nil {
		return // being killed
	}
	child := int(msg)
	before, isEarly := b.g.Early[child]
	r := before.Role
	if isEarly {
		delete(b.g.Early, child)
	} else {
		if b.g.LoadRegs(t) != nil {
			return // being killed: the child tells what it is
		}
		r = b.classify(child, t.TID, &t.Regs)
		if _, err := ptrace.PeekTID(child, false); err == syscall.ECHILD {
			b.takeUnattached(child, r)
		} else {
			born := b.g.Add(child, r, StateBorn)
			if r == RoleCopy {
				t.child, born.Creator = born, t
			}
		}
	}
	if kind == ptrace.KindVfork {
		b.g.Stopper.waitsInVfork(t)
	}
	if t.Role == RoleThread {
		b.g.news.Born(t, child, r, kind)
	}
	if isEarly {
		b.announced(child)
	}
}

// takeUnattached is for a new thread or process that is not traced although its creator reports it. The kernel
// decides that there will be an event when the creator enters the call, whether the new one is attached in the middle
// of it, and which tracer the event is for at its end. Another tracer may have let go between the first two, and we
// have seized the creator before the third (kernel_clone, ptrace_init_task). A copy has no traps then: there are none
// before the creator has stopped.
func (b *Newborns) takeUnattached(child int, r Role) {
	switch r {
	case RoleCopy:
		b.g.up.Strayed(child)
	case RoleThread:
		r := newReaper()
		defer r.close()
		b.g.Seizer.seizePass([]int{child}, r) // refused: of another owner since, as in seizeNewborn
	case RoleSharer:
		if b.g.Seizer.seizeOne(child) == nil { // otherwise seizeSharers refuses
			b.g.Add(child, RoleSharer, StateRunning)
		}
	}
}

// ChildGone lets the creator of a process go on, which stands in the event of its birth until the
// child is let go: it may trace its children itself, and there is but one tracer at a time.
func (b *Newborns) ChildGone(creator *Thread) {
	if creator != nil {
		creator.child = nil
		b.g.Settle(creator)
	}
}
