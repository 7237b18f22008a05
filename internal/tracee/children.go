package tracee

import (
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Newborns finds out what new threads are.
type Newborns struct{ g *Group }

// adopt makes the record of a thread that stops before its creator's event has
// announced it: the kernel wakes both, and either may come first. The role can be
// found without the announcement. adopt returns nil for a thread that is gone already.
func (b *Newborns) adopt(s ptrace.Stop) *Thread {
	if s.TID == b.g.PID {
		// The leader was dead when we attached. Either another thread has taken its number
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

// classify finds the role of a new thread: it is one of the target's threads, or one of
// another process, which shares the target's memory or has a copy of it. regs are the
// registers of the stopped thread tid, the creator or the new thread itself. They show
// the system call. kcmp(2) would show the role as well, but filters of system calls deny
// it, and it takes the memory of a dead leader for another memory.
func (b *Newborns) classify(child, tid int, regs *ptrace.Regs) Role {
	if b.isThread(child) {
		return RoleThread
	}
	flags, err := regs.CloneFlags(ptrace.Memory{TID: tid})
	if err == nil && flags&ptrace.CloneThread != 0 { // it has ended
		return RoleThread
	}
	shares := flags&ptrace.CloneVM != 0
	if err != nil { // the arguments of clone3(2) are not there any more, or it is being killed
		shares, err = b.g.Seizer.compare(child)
	}
	if err == nil && !shares {
		return RoleCopy
	}
	return RoleSharer
}

// isThread reports whether a living thread belongs to the target. EPERM means that it does: we may trace
// that target and not signal it.
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
	} else if known := b.g.Threads[child]; known != nil { // as in takeUnattached, and found before its creator's event
		r = known.Role
	} else {
		if b.g.LoadRegs(t) != nil {
			return // being killed: the child's own stop shows its role
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

// AwaitStrays makes records of the processes that have none although they are traced: each stops before it runs. It is called when
// the process has ended, or was detached, and no thread has a record. Their creators were killed before they could report them.
// Where a wait status of another thread may be there, or is left to this program, nothing is waited for.
func (b *Newborns) AwaitStrays() {
	g := b.g
	for len(g.Threads) == 0 && !g.phase.Over() && g.Alone(g) && !g.Reports.OwnChild() && len(g.late) == 0 && g.Leaver.Abandoned == 0 {
		s, err := g.Reports.wait(true)
		if err != nil && err != syscall.EINTR {
			return // there is none
		}
		g.Tracer.report(s, err)
	}
}

// takeUnattached handles a new thread or process that is not traced although its creator reports it. The kernel takes
// three decisions: when the creator enters the call, whether there will be an event; in the middle of it, whether the
// new thread is attached; at its end, which tracer gets the event (kernel_clone, ptrace_init_task). Another tracer may
// have detached between the first two, and we have seized the creator before the third. A copy has no traps then: there
// are none before the creator has stopped.
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

// ChildGone resumes the creator of a process. The creator stays in the event stop of the birth until the
// child is detached: it may trace its children itself, and a thread has one tracer at a time.
func (b *Newborns) ChildGone(creator *Thread) {
	if creator != nil {
		creator.child = nil
		b.g.Settle(creator)
	}
}
