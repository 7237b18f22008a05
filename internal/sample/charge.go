package sample

import (
	"time"

	"ptools/internal/futex"
	"ptools/internal/profile"
)

// charge is the thread that is to blame for a wait.
type charge struct {
	p     *process // whose stack it is; nil: no thread is to blame
	stack profile.StackID
	t     *thread // the holder
	holds place
	why   string // why no thread is to blame
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

// Why no thread is blamed, beside futex.Lock.Why.
const (
	changedHands = profile.ChangedHands
	free         = "nobody held it"
	notSeen      = "holder running, not seen"
	elsewhere    = "holder in another process"
	ownerEnded   = "owner has ended"
	deadlocked   = "deadlock"
	notShown     = "its system call may not be read"
	notNamed     = "function that waits not known in time"
)

// note returns the level that says why no thread is blamed.
func (b *blame) note(why string) profile.Addr {
	switch why {
	case changedHands, deadlocked, free:
		return b.p.sampler.profile.Note("[" + why + "]")
	}
	return b.p.sampler.profile.Note("[owner unknown (" + why + ")]")
}

// owe adds a time that is to be counted. A thread that waits for one lock all the time is counted once, when the wait
// is over. So a thousand such threads cost little.
func (b *blame) owe(w *waiter, c charge, wants place, d time.Duration) {
	if n := len(w.owed); n > 0 && w.owed[n-1].charge == c && w.owed[n-1].wants == wants {
		w.owed[n-1].time += d
		return
	}
	if w.named {
		b.pay(w)
	}
	w.owed = append(w.owed, waited{c, wants, d})
}

// pay counts what is owed.
func (b *blame) pay(w *waiter) {
	for _, o := range w.owed {
		b.charge(w, o.charge, o.wants, o.time)
	}
	w.owed = w.owed[:0]
}

// charge counts a time that a thread has waited.
func (b *blame) charge(w *waiter, c charge, wants place, waited time.Duration) {
	p := b.p
	if w.wait == 0 || c != w.last || wants != w.wants {
		w.last, w.wants = c, wants
		w.wait, w.on = b.intern(w, c)
	}
	on := p
	if c.p != nil {
		on = c.p
	}
	v := profile.Values{Samples: w.waits, Wall: int64(waited)}
	w.waits = 0
	on.space.Blame(w.t.id, w.on, w.wait, v)
	p.space.Waited(w.t.id, w.stack, w.wait, v)
}

// intern returns the kind of wait that is counted, and the stack of the thread that is to blame.
func (b *blame) intern(w *waiter, c charge) (profile.WaitID, profile.StackID) {
	prof, space := b.p.sampler.profile, b.p.space
	lock := func(l place) profile.LockID {
		return space.Lock(profile.Lock{Kind: l.kind.String(), Owned: l.kind.IsLock() || l.kind == futex.Unknown, Addr: l.addr})
	}
	wait := profile.Wait{Lock: lock(w.wants), Function: w.function, Why: c.why}
	if c.t != nil {
		wait.Holder, wait.TID, wait.Holds = prof.ThreadName(c.t.id), c.t.tid, lock(c.holds)
	}
	switch {
	case c.p == nil:
		return prof.Wait(wait), space.Rooted(w.stack, b.note(c.why))
	case c.why != "":
		return prof.Wait(wait), c.p.space.Rooted(c.stack, b.note(c.why))
	}
	return prof.Wait(wait), c.stack
}
