package tracee

import (
	"slices"
	"syscall"

	"ptools/internal/ptrace"
)

// A thread in a signal-delivery stop loses its signal if we die between wait4(2), which consumes
// the wait status, and PTRACE_CONT: the kernel resumes the thread with the signal of the wait
// status, if it is still there. So such a wait status is only looked at where the target is to
// outlive us: the thread is resumed without its being consumed. A thread that has to stay
// stopped keeps it (kept.go).
//
// The SIGTRAP of a trap of ours is the opposite case. If we die and its wait status has not been
// consumed, the SIGTRAP ends the target. If it has been consumed, the SIGTRAP vanishes, and the
// thread continues behind the trap, in the middle of an instruction. So it is consumed as soon as
// the thread has been set back in front of the trap: mostly by PeekWaitBack, before anything else
// is done, and otherwise in trapped.

// Reports is where wait statuses come from.
type Reports struct {
	r      *Tracer
	mode   Mode             // of all that is traced
	own    int              // a traced process that is a child of this program, which will want to wait for it; 0: none
	unread int              // thread whose wait status has only been looked at, and is being handled
	kept   map[int]struct{} // stopped threads whose wait status has been handled and was only looked at
	stolen []ptrace.Stop

	setBacks   []ptrace.SetBack // those of the only process, when its text had version setBacksOf
	setBacksOf uint64
	backs      []ptrace.Back // threads that were set back and are still to be handed out, in backsRoom
	backsRoom  [mostBacks]ptrace.Back
	lastBack   ptrace.Back // the one that was handed out last
}

// wait returns a wait status. block makes it wait for one.
func (r *Reports) wait(block bool) (ptrace.Stop, error) {
	lives := r.mode != ModeKill
	if !lives && r.own == 0 && r.r.Ending == nil {
		return ptrace.Wait(block)
	}
	if len(r.kept) > 0 && len(r.backs) == 0 {
		return r.waitBeside(block, shortNap)
	}
	return r.accept(r.peek(block))
}

// accept consumes a wait status that has been looked at, unless it is to stay unread.
func (r *Reports) accept(s ptrace.Stop, err error) (ptrace.Stop, error) {
	switch {
	case err != nil || s.Kind == ptrace.KindNone || s.Back:
		return s, err
	case r.own != 0 && s.TID == r.own && s.Kind.Ended():
		return s, nil // an exit status that this program collects itself
	case r.mode != ModeKill && s.Kind == ptrace.KindSignal:
		r.unread = s.TID
		return s, nil
	}
	r.ending(s)
	return ptrace.WaitTID(s.TID, false)
}

// ending calls Ending for a process that has ended, also for one that shared the memory of a target.
func (r *Reports) ending(s ptrace.Stop) {
	if !s.Kind.Ended() || r.r.Ending == nil {
		return
	}
	g := r.r.threads[s.TID]
	if g == nil {
		return
	}
	switch g.Threads[s.TID].Role {
	case RoleThread:
		if g.PID != s.TID {
			return
		}
	case RoleSharer:
		if ptrace.Kill(s.TID, s.TID, 0) == syscall.ESRCH { // not the first thread
			return
		}
	default:
		return
	}
	r.r.Ending(s.TID)
}

// OwnChild reports whether a traced process is a child of this program that was not made to be traced.
func (r *Reports) OwnChild() bool { return r.own != 0 }

// mostBacks bounds how many threads are set back at a time.
const mostBacks = 16

// peek looks at a wait status. All threads that have stopped at traps are set back at once, and their
// wait statuses consumed. They are handed out one by one.
func (r *Reports) peek(block bool) (ptrace.Stop, error) {
	if r.mode == ModeKill {
		return ptrace.PeekWait(block)
	}
	if len(r.backs) == 0 {
		r.refreshSetBacks()
		room := r.backsRoom[:max(1, min(len(r.r.threads), mostBacks))]
		s, n, err := ptrace.PeekWaitBack(r.setBacks, room, block)
		if n == 0 {
			return s, err
		}
		r.backs = room[:n]
	}
	return r.handOut(0), nil
}

// refreshSetBacks updates setBacks to the traps that are in the text. The rules are for one text. Where several
// processes are traced, each thread is set back after its wait status has been consumed.
func (r *Reports) refreshSetBacks() {
	g := r.r.only
	if g == nil {
		r.setBacks, r.setBacksOf = r.setBacks[:0], 0
		return
	}
	if v := g.Text.Version(); v != r.setBacksOf {
		r.setBacks, r.setBacksOf = g.Text.AppendSetBacks(r.setBacks[:0]), v
	}
}

// handOut removes a thread that was set back from the list, and makes its wait status.
func (r *Reports) handOut(i int) ptrace.Stop {
	b := r.backs[i]
	r.lastBack = b
	r.backs = slices.Delete(r.backs, i, i+1)
	return ptrace.Stop{TID: b.TID, Kind: ptrace.KindSignal, Signal: syscall.SIGTRAP, Back: true}
}

// back returns the index of a thread in the list of those that were set back, or -1.
func (r *Reports) back(tid int) int {
	return slices.IndexFunc(r.backs, func(b ptrace.Back) bool { return b.TID == tid })
}

// waitTID is wait for one thread, which is being stopped.
func (r *Reports) waitTID(tid int, block bool) (ptrace.Stop, error) {
	if i := r.back(tid); i >= 0 {
		return r.handOut(i), nil
	}
	if r.mode == ModeKill && r.r.Ending == nil {
		return ptrace.WaitTID(tid, block)
	}
	return r.accept(ptrace.PeekTID(tid, block))
}

// takeBack takes over the registers of a thread that peek has set back. If the thread was making a step,
// its program counter is set to behind the trap again.
func (r *Reports) takeBack(t *Thread) {
	t.Regs, t.was, t.Known = r.lastBack.Regs, r.lastBack.Regs, RegsRead
	if t.M.position != PosSetBack {
		t.Regs.SetPC(r.lastBack.After)
		t.Known = RegsChanged
	}
}

// Read consumes the wait status that was left unread: no wait for any thread must return
// it again.
func (r *Reports) Read() {
	if tid := r.unread; tid != 0 {
		r.unread = 0
		r.read(tid)
	}
}

// read consumes the wait status of a thread that was stopped with a signal. If the thread has been killed since, another
// wait status is in its place.
func (r *Reports) read(tid int) {
	if s, err := ptrace.WaitTID(tid, false); err == nil && s.Kind != ptrace.KindSignal && s.Kind != ptrace.KindNone {
		r.stolen = append(r.stolen, s)
	}
}

// Resuming is called before a thread leaves its stop, which drops the wait status.
func (r *Reports) Resuming(t *Thread) {
	if r.unread == t.TID {
		r.unread = 0
	}
	delete(r.kept, t.TID)
}

// pollNow returns a wait status that is there already.
func (r *Reports) pollNow() (ptrace.Stop, error) {
	if n := len(r.stolen); n > 0 {
		s := r.stolen[0]
		r.stolen = r.stolen[1:]
		return s, nil
	}
	return r.wait(false)
}
