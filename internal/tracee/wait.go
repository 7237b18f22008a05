package tracee

import (
	"slices"
	"syscall"

	"ptools/internal/ptrace"
)

// A signal that a thread was stopped for is lost if we die between wait4(2), which takes the
// report, and PTRACE_CONT: the kernel resumes the thread with what is left of the report. So
// of a target that is to outlive us such a report is looked at and left where it is, and the
// thread is resumed without its ever being read. One that has to stand still is read when
// that is known.
//
// The SIGTRAP of a trap of ours is the other way round. Left unread it ends the target if we die,
// read it vanishes, and the thread goes on behind the trap, in the middle of an instruction.
// It is read as soon as the thread has been set back in front of it: mostly by PeekWaitBack,
// before anything else is done, and else in trapped.

// Reports is where wait statuses come from.
type Reports struct {
	r      *Tracer
	mode   Mode // of all that is traced
	own    int  // a process that is a child of this program, which will want to wait for it; 0: none is
	unread int  // thread whose report has been looked at only
	stolen []ptrace.Stop

	setBacks   []ptrace.SetBack // those of the only process when its text had this version
	setBacksOf uint64
	backs      []ptrace.Back // threads that were set back and are still to be reported, in backsRoom
	backsRoom  [mostBacks]ptrace.Back
	lastBack   ptrace.Back // the one that was reported last
}

// wait returns a report, or waits for one.
func (r *Reports) wait(block bool) (ptrace.Stop, error) {
	lives := r.mode != ModeKill
	if !lives && r.own == 0 && r.r.Ending == nil {
		return ptrace.Wait(block)
	}
	s, err := r.peek(block)
	switch {
	case err != nil || s.Kind == ptrace.KindNone || s.Back:
		return s, err
	case r.own != 0 && s.TID == r.own && s.Kind.Ended():
		return s, nil // an exit status that is this program's own
	case lives && s.Kind == ptrace.KindSignal:
		r.unread = s.TID
		return s, nil
	}
	r.ending(s)
	return ptrace.WaitTID(s.TID, false)
}

// ending tells of a process that has ended, also of one that shared the memory of another one.
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

// OwnChild reports whether a process that is traced is a child of this program, which was not made to be traced.
func (r *Reports) OwnChild() bool { return r.own != 0 }

// mostBacks bounds the threads that are set back at a time.
const mostBacks = 16

// peek looks at a report. Threads at traps are set back at once, all that have stopped, and their
// reports read; they are handed out one by one.
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

// refreshSetBacks has setBacks be what stands in the text. Rules are for one text: of several processes
// each thread is set back when its report has been read.
func (r *Reports) refreshSetBacks() {
	if len(r.r.Procs) != 1 {
		r.setBacks, r.setBacksOf = r.setBacks[:0], 0
		return
	}
	for _, g := range r.r.Procs {
		if v := g.Text.Version(); v != r.setBacksOf {
			r.setBacks, r.setBacksOf = g.Text.AppendSetBacks(r.setBacks[:0]), v
		}
	}
}

// handOut takes a thread that was set back off the list, and makes its report.
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

// waitTID is wait for one thread of g, which is being stopped. Unless there are breakpoints it
// has nothing to report that would not be read at once.
func (r *Reports) waitTID(g *Group, tid int, block bool) (ptrace.Stop, error) {
	if i := r.back(tid); i >= 0 {
		return r.handOut(i), nil
	}
	if (r.mode == ModeKill || g.Text.Len() == 0) && r.r.Ending == nil {
		return ptrace.WaitTID(tid, block)
	}
	s, err := ptrace.PeekTID(tid, block)
	switch {
	case err != nil || s.Kind == ptrace.KindNone:
		return s, err
	case s.Kind == ptrace.KindSignal && r.mode != ModeKill:
		r.unread = s.TID
		return s, nil
	}
	r.ending(s)
	return ptrace.WaitTID(tid, false)
}

// takeBack takes the registers of a thread that peek has set back. One that was making a step is looked
// at as it was.
func (r *Reports) takeBack(t *Thread) {
	t.Regs, t.was, t.Known = r.lastBack.Regs, r.lastBack.Regs, RegsRead
	if t.M.position != PosSetBack {
		t.Regs.SetPC(r.lastBack.After)
		t.Known = RegsChanged
	}
}

// Read takes the report that was left unread, which no wait for any thread must meet
// again. Of a thread that has been killed since there is another one in its place.
func (r *Reports) Read() {
	if r.unread == 0 {
		return
	}
	tid := r.unread
	r.unread = 0
	if s, err := ptrace.WaitTID(tid, false); err == nil && s.Kind != ptrace.KindSignal && s.Kind != ptrace.KindNone {
		r.stolen = append(r.stolen, s)
	}
}

// Resuming is called before a thread leaves its stop: the report goes with it.
func (r *Reports) Resuming(t *Thread) {
	if r.unread == t.TID {
		r.unread = 0
	}
}

// pollNow returns a report that is there.
func (r *Reports) pollNow() (ptrace.Stop, error) {
	if n := len(r.stolen); n > 0 {
		s := r.stolen[0]
		r.stolen = r.stolen[1:]
		return s, nil
	}
	return r.wait(false)
}
