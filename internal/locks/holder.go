package locks

import (
	"time"

	"ptools/internal/futex"
	"ptools/internal/profile"
)

// holderTries bounds how often the look at an owner that moves is repeated, and at a lock that changes hands.
const holderTries = 3

// freshness is how long the last found owner of a lock is assumed to hold it, when another thread is found that waits
// for it.
const freshness = 50 * time.Microsecond

// ask finds out which thread holds the lock that a thread waits for, right after the thread was seen to wait. The
// longer that takes, the more often the lock has another owner by then, perhaps the waiting thread. Without timers
// a running owner is found when it is stopped.
func (l *Table) ask(w *waiter) {
	l.name(w)
	if l.collect(w); w.group == nil {
		return
	}
	g, now := w.group, l.opt.Now()
	if g.holder == answered && now-g.asked > freshness && !l.isSame(g) {
		g.holder = notFound
	}
	switch {
	case g.holder != notFound:
	case l.opt.Stops:
		l.findAsleep(g)
	default:
		l.find(g)
	}
	g.asked = now
	w.answer, w.answered = g.answer, g.holder == answered
}

// isSame reports whether the answer for a lock is still true.
func (l *Table) isSame(g *group) bool {
	switch g.answer.why {
	case "":
		return l.stillHolds(g)
	case Free, ChangedHands:
		return false
	}
	return true
}

// findAsleep finds out which thread the waits of a group are charged to, if the owner sleeps. It is called before
// running threads are stopped. That takes milliseconds when processors are short, and the lock changes hands
// meanwhile. A running owner is among the threads to stop.
func (l *Table) findAsleep(g *group) {
	l.learn(g)
	if g.answer = l.holder(g); g.answer.why == "" {
		g.holder = answered
	}
}

// find finds out which thread the waits of a group are charged to. If the lock changes hands meanwhile, it
// looks for the next owner, for which the other threads of the group wait.
func (l *Table) find(g *group) {
	was := g.lock.Owner
	for range holderTries {
		switch g.holder {
		case answered:
			return
		case notFound:
			l.learn(g)
		}
		if g.answer = l.holder(g); g.answer.why != ChangedHands {
			break
		}
		g.holder = notFound
	}
	if g.answer.why == NotSeen && was != 0 && was != g.lock.Owner {
		g.answer.why = ChangedHands
	}
	g.holder = answered
}

// holder returns the thread that holds a lock, and its stack.
func (l *Table) holder(g *group) charge {
	lock := &g.lock
	switch {
	case lock.Why == futex.Free:
		return charge{why: Free}
	case lock.Why != "":
		return charge{why: lock.Why}
	case lock.Dead:
		return charge{why: OwnerEnded}
	case lock.OwnerAt == 0:
		return charge{why: lock.Kind.String()}
	}
	t := l.owner(lock.Owner)
	if t == nil {
		return charge{why: l.unknownOwner(g)}
	}
	stack, why := l.stackOf(t, g)
	if why != "" {
		return charge{why: why}
	}
	return charge{t: t, stack: stack, holds: place{lock.Addr, lock.Kind}}
}

// follow returns which thread a wait is charged to, if the owner may wait itself.
func (l *Table) follow(w *waiter) charge {
	c := w.answer
	for range l.order {
		if c.t == nil || c.t.Space() != l.space {
			return c
		}
		if c.t == w.t && c.stack != w.stack {
			return charge{why: ChangedHands} // the thread holds the lock itself by now
		}
		next := l.waiters[c.t]
		if next == nil || next.group == nil || next.stack != c.stack || next.answer.why != "" {
			return c // the owner does not wait, or waits for a lock whose owner is not known
		}
		c = next.answer
	}
	c = w.answer
	c.why = deadlocked
	return c
}

// unknownOwner returns what is known about an owner that is not sampled.
func (l *Table) unknownOwner(g *group) string {
	pid := l.numbers.process(g.lock.Owner)
	switch {
	case !l.stillHolds(g):
		return ChangedHands
	case pid == 0:
		return OwnerEnded
	case pid == l.opt.PID:
		return NotSeen // it is so new
	}
	return elsewhere
}

// stackOf returns the stack that a thread has while it holds a lock.
func (l *Table) stackOf(t Thread, g *group) (stack profile.StackID, why string) {
	if g.holder == standing {
		return t.Shown(), ""
	}
	for range holderTries {
		switch s := t.Look(&g.lock); {
		case s.Why != "":
			return 0, s.Why
		case s.Held:
			return s.Stack, ""
		case !s.Moved:
			return s.Stack, l.unlessChanged(g)
		}
		if !l.stillHolds(g) {
			return 0, ChangedHands
		}
	}
	return 0, NotSeen
}

// unlessChanged returns why no thread is charged: ChangedHands if the lock has another owner by now.
func (l *Table) unlessChanged(g *group) string {
	if !l.stillHolds(g) {
		return ChangedHands
	}
	return ""
}
