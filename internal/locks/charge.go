package locks

import (
	"time"

	"ptools/internal/futex"
	"ptools/internal/profile"
)

// charge says what a blocked time is charged to.
type charge struct {
	t     Thread // the owner; nil: no thread
	stack profile.StackID
	holds place
	why   string // why no thread is charged
}

// waited is a time that is still to be counted.
type waited struct {
	charge
	wants place
	time  time.Duration
}

// place is a lock.
type place struct {
	addr uint64
	kind futex.Kind
}

// Why no thread is charged, beside futex.Lock.Why.
const (
	ChangedHands = profile.ChangedHands
	Free         = "nobody held it"
	NotSeen      = "holder running, not seen"
	OwnerEnded   = "owner has ended"

	elsewhere  = "holder in another process"
	deadlocked = "deadlock"
	notShown   = "its system call may not be read"
	notNamed   = "function that waits not known in time"
)

// note returns the level that says why no thread is charged.
func (l *Table) note(why string) profile.Addr {
	switch why {
	case ChangedHands, deadlocked, Free:
		return l.opt.Profile.Note("[" + why + "]")
	}
	return l.opt.Profile.Note("[owner unknown (" + why + ")]")
}

// add adds a time that is to be counted. A thread that waits for one lock all the time is counted once, when the wait
// is over. So a thousand such threads cost little.
func (l *Table) add(w *waiter, c charge, wants place, d time.Duration) {
	if n := len(w.pending); n > 0 && w.pending[n-1].charge == c && w.pending[n-1].wants == wants {
		w.pending[n-1].time += d
		return
	}
	if w.named {
		l.flush(w)
	}
	w.pending = append(w.pending, waited{c, wants, d})
}

// flush counts what is pending.
func (l *Table) flush(w *waiter) {
	for _, o := range w.pending {
		l.charge(w, o.charge, o.wants, o.time)
	}
	w.pending = w.pending[:0]
}

// charge counts a time that a thread has waited.
func (l *Table) charge(w *waiter, c charge, wants place, waited time.Duration) {
	if w.wait == 0 || c != w.last || wants != w.wants {
		w.last, w.wants = c, wants
		w.wait, w.on = l.intern(w, c)
	}
	v := profile.Values{Samples: w.waits, Wall: int64(waited)}
	w.waits = 0
	l.spaceOf(c).Blame(w.t.ID(), w.on, w.wait, v)
	l.space.Waited(w.t.ID(), w.stack, w.wait, v)
}

// spaceOf returns the space that has the stack of a charge.
func (l *Table) spaceOf(c charge) *profile.Space {
	if c.t != nil {
		return c.t.Space()
	}
	return l.space
}

// intern returns the kind of wait that is counted, and the stack that it is charged to.
func (l *Table) intern(w *waiter, c charge) (profile.WaitID, profile.StackID) {
	lock := func(p place) profile.LockID {
		return l.space.Lock(profile.Lock{Kind: p.kind.String(), Owned: p.kind.IsLock() || p.kind == futex.Unknown, Addr: p.addr})
	}
	wait := profile.Wait{Lock: lock(w.wants), Function: w.function, Why: c.why}
	if c.t != nil {
		wait.Holder, wait.TID, wait.Holds = l.opt.Profile.ThreadName(c.t.ID()), c.t.TID(), lock(c.holds)
	}
	id := l.opt.Profile.Wait(wait)
	switch {
	case c.t == nil:
		return id, l.space.Rooted(w.stack, l.note(c.why))
	case c.why != "":
		return id, c.t.Space().Rooted(c.stack, l.note(c.why))
	}
	return id, c.stack
}
