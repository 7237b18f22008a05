package control

import (
	"ptools/internal/ptrace"
)

// looks visits threads without having all stand.
type looks struct {
	g    *tracees
	seen []*thread // work space
}

// look is one request to see a set of threads.
type look struct {
	pending int
	lost    int
	ready   func(tid int) bool
	over    func() bool
	visit   func(tid int, regs *ptrace.Regs)
}

// missed takes a thread off the look that could not be seen.
func (l *look) missed(t *thread) {
	t.look = nil
	l.pending--
	l.lost++
}

// all looks at threads.
func (k *looks) all(tids []int, l *look) {
	pending := k.seen[:0]
	for _, tid := range tids {
		if t := k.lookAt(tid, l); t != nil {
			pending = append(pending, t)
		}
	}
	k.seen = pending
	before := l.pending
	k.g.waiter.collect(pending, func(t *thread) bool { return t.look == l }, func() {
		switch {
		case l.over != nil && l.over():
			k.missPending(l)
		case l.pending == before:
			k.missUnresponsive(l)
		}
		before = l.pending
	})
	l.lost += l.pending // the target has ended
}

// lookAt asks one thread to stop for a look, and returns it if it has to be waited for.
func (k *looks) lookAt(tid int, l *look) *thread {
	t := k.g.threads[tid]
	if t == nil || t.role != roleThread || t.look != nil || l.ready != nil && !l.ready(tid) {
		l.lost++
		return nil
	}
	l.pending++
	t.look = l
	switch {
	case t.m.state == stateStopped:
		k.visit(t)
		return nil
	case t.m.awaits == awaitVfork || t.m.awaits == awaitParked:
		l.missed(t)
		return nil
	}
	k.g.interrupt(t, t.m.ask())
	return t
}

// visit shows a stopped thread to the look that wants it.
func (k *looks) visit(t *thread) {
	l := t.look
	if err := k.g.loadRegs(t); err != nil {
		l.missed(t)
		return
	}
	t.look = nil
	l.pending--
	l.visit(t.tid, k.g.memory.shown(t))
}

// missPending ends a look: threads that stop later run on at once.
func (k *looks) missPending(l *look) {
	for _, t := range k.g.threads {
		if t.look == l {
			l.missed(t)
		}
	}
}

func (k *looks) missUnresponsive(l *look) {
	for _, t := range k.g.threads {
		if t.look == l && k.g.unresponsive(t, stuckFor) {
			l.missed(t)
		}
	}
}
