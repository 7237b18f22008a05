package control

// tracees are the threads that one OS thread traces, and what is done to them whatever for: they are seized, waited for,
// stopped, looked at, resumed and detached. Breakpoints, symbols and clients are not known here; what concerns those
// goes up through hooks. All but requests and roster belongs to the control goroutine.
type tracees struct {
	pid     int
	mode    Mode // what becomes of the target when we die
	phase   phase
	trace   *Trace // nil: off
	up      hooks
	news    news
	threads map[int]*thread
	holds   int // reasons for everybody to stand still

	requests requests
	roster   roster
	memory   targetMemory
	reports  reports
	waiter   waiter
	seizer   seizer
	births   newborns
	group    groupStop
	calls    calls
	looks    looks
	leaver   leaver
	pace
}

// pace is how fast stops are answered.
type pace struct {
	spin    spinner
	latency cpuLatency
	alert   alert
	alarm   alarm
}

// init is called before anything else.
func (g *tracees) init(pid int, mode Mode, trace *Trace, up hooks, n news) {
	g.pid, g.mode, g.trace, g.up, g.news = pid, mode, trace, up, n
	g.threads = map[int]*thread{}
	g.roster.set = map[int]struct{}{}
	g.births = newborns{g: g, early: map[int]role{}}
	g.memory.g, g.reports.g, g.waiter.g, g.seizer.g, g.group.g = g, g, g, g, g
	g.calls.g, g.looks.g, g.leaver.g = g, g, g
	g.seizer.told = mode
	g.spin.init()
}

// count returns the number of threads of the target.
func (g *tracees) count() int {
	n := 0
	for _, t := range g.threads {
		if t.role == roleThread {
			n++
		}
	}
	return n
}

// add puts a thread on the books.
func (g *tracees) add(tid int, r role, s state) *thread {
	t := &thread{tid: tid, role: r, m: machine{state: s}}
	g.threads[tid] = t
	g.trace.did(t, deedAdd, uint64(r), nil)
	if r == roleThread {
		g.roster.enlist(tid)
	}
	if g.holds > 0 && r != roleCopy {
		g.hold(t)
	}
	return t
}

// has reports whether a thread is still on the books: it may have ended, or executed a program, since it was looked up.
func (g *tracees) has(t *thread) bool { return g.threads[t.tid] == t }

// drop removes a thread and whatever waits for it.
func (g *tracees) drop(t *thread) {
	delete(g.threads, t.tid)
	g.trace.did(t, deedDrop, 0, nil)
	if i := g.reports.back(t.tid); i >= 0 {
		g.reports.handOut(i) // to nobody
	}
	g.up.dropped(t)
	g.arrived(t)
	if t.look != nil {
		t.look.missed(t)
	}
	if t.role == roleThread {
		g.roster.strike(t.tid)
	}
	if t.child != nil {
		t.child.creator = nil
	}
	g.births.childGone(t.creator)
}

// standing returns a thread in a ptrace stop that has the target's memory, if possible one of the
// target itself; nil if there is none.
func (g *tracees) standing() *thread {
	var sharer *thread
	for _, t := range g.threads {
		switch {
		case t.m.state != stateStopped || t.role == roleCopy:
		case t.role == roleThread:
			return t
		default:
			sharer = t
		}
	}
	return sharer
}

// pidOf returns the process that a traced thread belongs to, for /proc.
func (g *tracees) pidOf(t *thread) int {
	if t.role == roleThread {
		return g.pid
	}
	return t.tid
}

// runnersFirst returns all threads, those that were stopped in a system call after
// those that may have been executing code of their own and have to get on with it.
func (g *tracees) runnersFirst() []*thread {
	all := make([]*thread, 0, len(g.threads))
	for _, called := range [...]bool{false, true} {
		for _, t := range g.threads {
			_, _, in := t.regs.SyscallReturn()
			if (t.known != regsUnread && in) == called {
				all = append(all, t)
			}
		}
	}
	return all
}
