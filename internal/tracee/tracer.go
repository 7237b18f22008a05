package tracee

import (
	"sync"
	"sync/atomic"
	"syscall"

	"ptools/internal/guard"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Tracer is one OS thread and what it traces: a process, or a process and its descendants. A tree of processes has one
// tracer: the kernel attaches a child to the tracer of the thread that made it, and takes requests for the child from
// that tracer only (ptrace_init_task in include/linux/ptrace.h, ptrace_check_attach). All fields but Line, Leaving and
// Ends belong to the control goroutine.
//
// Each wait status goes to the Group of its thread, also while another Group waits for something. That does no harm:
// a method that waits has to expect any stop of its own process anyway.
type Tracer struct {
	Line    Line
	Leaving atomic.Bool    // all processes are being released
	Ends    sync.WaitGroup // counts the processes whose end has not been reported to the owner

	SlowBirth bool // a client is called at each birth of a thread
	// Ending, unless nil, is called for each process that has ended, before its exit status is collected.
	Ending func(pid int)
	Guard  *guard.Guard // removes the traps from the text if we are killed; nil: they stay

	pace
	Reports Reports
	Procs   map[int]*Group // by process
	only    *Group         // the one in Procs, if there is only one
	threads map[int]*Group // the Group of each thread, by TID
	over    []*Group       // their control has ended; Concluded has not been called
	last    []*Group       // they are concluded when this OS thread ends
	late    map[int]late   // threads of Groups that are over, to be detached when they stop
	Early   map[int]Early  // threads that stopped before their creator's event announced them
}

// Early is a thread that stopped before its creator's event.
type Early struct {
	Of   *Group
	Role Role
}

// late is a thread that slept uninterruptibly when its process was released.
type late struct {
	g *Group
	t *Thread
}

func NewTracer(mode Mode) *Tracer {
	r := &Tracer{
		Procs: map[int]*Group{}, threads: map[int]*Group{}, late: map[int]late{}, Early: map[int]Early{},
	}
	r.Reports.r, r.Reports.mode, r.Reports.kept = r, mode, map[int]struct{}{}
	r.Spin.init()
	return r
}

// Enlist adds a process to those of the tracer.
func (r *Tracer) Enlist(g *Group) {
	r.Procs[g.PID] = g
	r.findOnly()
}

// delist removes a process from those of the tracer.
func (r *Tracer) delist(g *Group) {
	delete(r.Procs, g.PID)
	r.findOnly()
}

func (r *Tracer) findOnly() {
	if r.only = nil; len(r.Procs) == 1 {
		for _, r.only = range r.Procs {
		}
	}
}

// Alone reports whether the tracer has no process other than g.
func (r *Tracer) Alone(g *Group) bool {
	return len(r.Procs) == 0 || r.only == g
}

// Forget removes the record of a thread from its process.
func (g *Group) Forget(t *Thread) {
	delete(g.Threads, t.TID)
	delete(g.Reports.kept, t.TID)
	if g.Tracer.threads[t.TID] == g {
		delete(g.Tracer.threads, t.TID)
	}
}

// dispatch gives a wait status to the Group of its thread.
func (r *Tracer) dispatch(s ptrace.Stop) {
	g := r.threads[s.TID]
	if g == nil {
		if l, ok := r.lateOf(s.TID); ok {
			r.part(l, s)
			return
		}
		if g = r.processOf(s.TID); g == nil {
			return
		}
	}
	g.dispatch(s)
	if len(g.Threads) == 0 && !g.phase.Over() && !r.Alone(g) {
		g.news.Lost(syscall.ECHILD)
	}
}

// lateOf returns the thread that was left behind when its process was released and that now has the number tid. It may
// have got the number of the leader by execve(2).
func (r *Tracer) lateOf(tid int) (late, bool) {
	if l, ok := r.late[tid]; ok {
		return l, true
	}
	for _, l := range r.late {
		if l.g.PID == tid {
			return l, true
		}
	}
	return late{}, false
}

// part detaches a thread that has stopped, or ended, after its process was released.
func (r *Tracer) part(l late, s ptrace.Stop) {
	delete(r.late, l.t.TID)
	if s.Kind.Ended() {
		return
	}
	l.t.TID = s.TID
	l.t.M.Stop(s)
	l.t.Known = RegsUnread
	l.g.Leaver.Leave(l.t)
}

// processOf returns the Group of an unannounced thread: that of its own process, or of the process that has made it.
// A child of clone(CLONE_PARENT), and one whose parent has ended, is recognized by its memory.
func (r *Tracer) processOf(tid int) (g *Group) {
	if r.only != nil {
		return r.only
	}
	if st, err := procfs.ReadStatus(tid); err == nil {
		if g := r.Procs[st.Tgid]; g != nil {
			return g
		}
	}
	if st, err := procfs.ReadStat(tid); err == nil {
		if g = r.Procs[st.PPID]; g != nil && !r.hasCloneParent(tid) {
			return g
		}
	}
	for _, g = range r.Procs {
		if g.up.Begot(tid) {
			return g
		}
	}
	return g
}

// hasCloneParent reports whether the system call that a new thread comes from has given it its creator's parent.
func (r *Tracer) hasCloneParent(tid int) bool {
	var regs ptrace.Regs
	if ptrace.GetRegs(tid, &regs) != nil {
		return false
	}
	flags, err := regs.CloneFlags(ptrace.Memory{TID: tid})
	return err == nil && flags&ptrace.CloneParent != 0
}

// lost notifies every process under control that there is nothing left to wait for.
func (r *Tracer) lost(err error) {
	for _, g := range r.Procs {
		if !g.phase.Over() {
			g.news.Lost(err)
		}
	}
}

// Loop is the main loop of the control goroutine. It serves requests, and handles one wait status at a time.
func (r *Tracer) Loop() {
	for r.serve(); len(r.Procs) > 0; r.serve() {
		s, err := r.poll()
		if err == nil && s.Kind == ptrace.KindNone {
			// A request that is queued from here on rings.
			r.Line.waiting.Store(true)
			if !r.Line.Queued() {
				r.beAlert()
				s, err = r.Reports.rest()
				r.calmFor(s, err)
			}
			r.Line.waiting.Store(false)
		}
		r.report(s, err)
		r.conclude()
	}
}

// serve runs the queued requests.
func (r *Tracer) serve() {
	for {
		q := r.Line.next()
		if q == nil {
			break
		}
		r.Alert.Thread.Off()
		q.run()
		r.conclude()
	}
}

// poll returns a wait status that is there already. Where polling has paid lately, it also waits
// a moment for one.
func (r *Tracer) poll() (ptrace.Stop, error) {
	if len(r.Reports.stolen) > 0 {
		return r.Reports.pollNow()
	}
	if r.Reports.own != 0 || !r.Spin.worthwhile() {
		return ptrace.Stop{}, nil
	}
	r.Alert.Thread.Off()
	return r.spinForReport()
}

// report handles the result of [Reports.wait].
func (r *Tracer) report(s ptrace.Stop, err error) {
	switch {
	case err == syscall.EINTR:
		r.Latency.check()
	case err != nil:
		r.lost(err)
	case s.Kind != ptrace.KindNone:
		r.dispatch(s)
		r.Reports.keep()
	}
}

// conclude calls Concluded for the processes whose control is over. Those that end with this OS thread are kept in last.
func (r *Tracer) conclude() {
	for len(r.over) > 0 {
		g := r.over[0]
		r.over = r.over[1:]
		r.delist(g)
		if len(r.Procs) == 0 || g.Leaver.Abandoned > 0 && r.Leaving.Load() {
			r.last = append(r.last, g)
			continue
		}
		g.news.Concluded(false, nil)
	}
}

// LetAllGo releases the processes that are still under control. It is called when the loop has ended, also by a panic or
// a runtime.Goexit of a handler.
func (r *Tracer) LetAllGo() {
	r.Leaving.Store(true)
	for _, g := range r.Procs {
		if !g.phase.Over() {
			g.news.LetGo()
		}
	}
	r.conclude()
}

// End is called when this goroutine ends, and its OS thread with it. The kernel then detaches the threads that are
// still traced. Concluded waits for that, so that no thread is found traced after the end. Nothing delays it.
func (r *Tracer) End() {
	var wait func()
	for _, g := range r.last {
		if g.Leaver.Abandoned > 0 && wait == nil {
			wait = sync.OnceFunc(ptrace.ThreadExit().Wait)
		}
	}
	for _, g := range r.last {
		if g.Leaver.Abandoned > 0 {
			g.news.Concluded(false, wait)
		}
	}
	for _, g := range r.last {
		if g.Leaver.Abandoned == 0 {
			g.news.Concluded(wait == nil, nil)
		}
	}
}
