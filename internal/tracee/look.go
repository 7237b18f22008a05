package tracee

import (
	"ptools/internal/ptrace"
)

// Looks visits single threads in a short stop, without stopping all at a time.
type Looks struct {
	g    *Group
	seen []*Thread // work space
}

// Look is one request to see a set of threads.
type Look struct {
	pending int
	Lost    int
	Ready   func(tid int) bool
	Over    func() bool
	Visit   func(tid int, regs *ptrace.Regs)
}

// missed removes a thread that could not be seen from the look.
func (l *Look) missed(t *Thread) {
	t.look = nil
	l.pending--
	l.Lost++
}

// All looks at threads.
func (k *Looks) All(tids []int, l *Look) {
	pending := k.seen[:0]
	for _, tid := range tids {
		if t := k.lookAt(tid, l); t != nil {
			pending = append(pending, t)
		}
	}
	k.seen = pending
	before := l.pending
	k.g.Waiter.collect(pending, func(t *Thread) bool { return t.look == l }, func() {
		switch {
		case l.Over != nil && l.Over():
			k.missPending(l)
		case l.pending == before:
			k.missUnresponsive(l)
		}
		before = l.pending
	})
	l.Lost += l.pending // the target has ended
}

// lookAt asks one thread to stop for a look, and returns it if it has to be waited for.
func (k *Looks) lookAt(tid int, l *Look) *Thread {
	t := k.g.Threads[tid]
	if t == nil || t.Role != RoleThread || t.look != nil || l.Ready != nil && !l.Ready(tid) {
		l.Lost++
		return nil
	}
	l.pending++
	t.look = l
	switch {
	case t.M.state == StateStopped:
		k.visit(t)
		return nil
	case t.M.awaits == AwaitVfork || t.M.awaits == AwaitParked:
		l.missed(t)
		return nil
	}
	k.g.Stopper.Interrupt(t, t.M.Ask())
	return t
}

// visit shows a stopped thread to the look that wants it.
func (k *Looks) visit(t *Thread) {
	l := t.look
	if err := k.g.LoadRegs(t); err != nil {
		l.missed(t)
		return
	}
	t.look = nil
	l.pending--
	l.Visit(t.TID, k.g.Memory.shown(t))
}

// missPending ends a look: threads that stop later run on at once.
func (k *Looks) missPending(l *Look) {
	for _, t := range k.g.Threads {
		if t.look == l {
			l.missed(t)
		}
	}
}

func (k *Looks) missUnresponsive(l *Look) {
	for _, t := range k.g.Threads {
		if t.look == l && k.g.Stopper.Unresponsive(t, StuckFor) {
			l.missed(t)
		}
	}
}
