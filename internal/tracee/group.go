package tracee

import "syscall"

// Group is the traced threads of one process. It seizes them, waits for them, stops, looks at, resumes and detaches them.
// It knows no breakpoint, no symbol and no client; for those it calls its owner, through Hooks and News. All fields but
// Requests and Roster belong to the control goroutine.
type Group struct {
	*Tracer
	PID     int
	mode    Mode // what becomes of the target when we die
	phase   Phase
	Trace   *Trace // nil: off
	up      Hooks
	news    News
	Threads map[int]*Thread

	Requests Requests
	Roster   Roster
	Memory   Memory
	Text     TrapText
	Waiter   Waiter
	Stopper  Stopper
	Seizer   Seizer
	Births   Newborns
	Group    GroupStop
	Calls    Calls
	Looks    Looks
	Leaver   Leaver
}

// pace has what makes the reaction to stops fast.
type pace struct {
	Spin    Spinner
	Latency CPULatency
	Alert   Alert
	Alarm   Alarm
}

// Init must be called before any other method.
func (g *Group) Init(r *Tracer, pid int, trace *Trace, up Hooks, n News) {
	g.Tracer, g.PID, g.mode, g.Trace, g.up, g.news = r, pid, r.Reports.mode, trace, up, n
	g.Requests.line = &r.Line
	r.Ends.Add(1)
	if pid != 0 {
		r.Enlist(g)
	}
	g.Threads = map[int]*Thread{}
	g.Roster.set = map[int]struct{}{}
	g.Births.g, g.Memory.g, g.Waiter.g, g.Stopper.g, g.Seizer.g, g.Group.g = g, g, g, g, g, g
	g.Calls.g, g.Looks.g, g.Leaver.g = g, g, g
	none := noMemory{syscall.ESRCH}
	g.Memory.Mem, g.Memory.Bound, g.Memory.Used = none, none, none
	g.Seizer.Told = g.mode
}

// News returns the owner's functions for news of the process.
func (g *Group) News() News { return g.news }

// Count returns the number of threads of the target.
func (g *Group) Count() int {
	n := 0
	for _, t := range g.Threads {
		if t.Role == RoleThread {
			n++
		}
	}
	return n
}

// Add makes the record of a thread.
func (g *Group) Add(tid int, r Role, s State) *Thread {
	t := &Thread{TID: tid, Role: r, M: Machine{state: s}, Above: g.up.Above()}
	g.Threads[tid] = t
	g.Tracer.threads[tid] = g
	g.Trace.Did(t, DeedAdd, uint64(r), nil)
	switch r {
	case RoleThread:
		g.Roster.enlist(tid)
	case RoleSharer:
		g.news.Shares(tid)
	}
	if g.Stopper.holds > 0 && r != RoleCopy {
		g.Stopper.Hold(t)
	}
	return t
}

// Has reports whether t is still the record of its thread: the thread may have ended, or executed a program, since t was
// looked up.
func (g *Group) Has(t *Thread) bool { return g.Threads[t.TID] == t }

// Drop removes the record of a thread, and ends whatever waits for the thread.
func (g *Group) Drop(t *Thread) {
	g.Forget(t)
	g.Trace.Did(t, DeedDrop, 0, nil)
	if i := g.Reports.back(t.TID); i >= 0 {
		g.Reports.handOut(i) // the thread is not ours any more
	}
	g.up.Dropped(t)
	g.Stopper.Arrived(t)
	if t.look != nil {
		t.look.missed(t)
	}
	if t.Role == RoleThread {
		g.Roster.strike(t.TID)
	}
	if t.child != nil {
		t.child.Creator = nil
	}
	g.Births.ChildGone(t.Creator)
}

// Standing returns a thread in a ptrace stop that has the target's memory; nil if there is none. It prefers a
// thread of the target itself.
func (g *Group) Standing() *Thread {
	var sharer *Thread
	for _, t := range g.Threads {
		switch {
		case t.M.state != StateStopped || t.Role == RoleCopy:
		case t.Role == RoleThread:
			return t
		default:
			sharer = t
		}
	}
	return sharer
}

// PIDOf returns the process that a traced thread belongs to, for /proc.
func (g *Group) PIDOf(t *Thread) int {
	if t.Role == RoleThread {
		return g.PID
	}
	return t.TID
}

// RunnersFirst returns all threads. Those that may have been executing code of their own, and should
// continue soon, come first. Those that were stopped in a system call come after them.
func (g *Group) RunnersFirst() []*Thread {
	all := make([]*Thread, 0, len(g.Threads))
	for _, called := range [...]bool{false, true} {
		for _, t := range g.Threads {
			_, _, in := t.Regs.SyscallReturn()
			if (t.Known != RegsUnread && in) == called {
				all = append(all, t)
			}
		}
	}
	return all
}
