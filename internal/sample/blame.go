package sample

import (
	"time"

	"ptools/internal/futex"
	"ptools/internal/perfevent"
)

// Which threads hold the locks that others wait for is found out in the rounds, which see the waiting threads anyway.
// A thread that sleeps in futex(2) shows the address of a word; the memory around it has the number of the thread
// that holds the lock (internal/futex). The time since the round before, which counts as waiting time of the thread
// that waits, is blamed on the stack that the holder has at that moment (holder.go): of one that sleeps the stack is
// known, one that runs is looked at. Then the word is read again. A lock that has another owner by then is not
// blamed.
//
// Where the holder waits for a lock itself its holder is blamed, and so on.
//
// What has no owner by its nature, as a condition variable, is counted as such. Nothing is read of it.

// Blame has a sampler find out which threads hold the locks that others wait for.
type Blame struct {
	// Peek looks at a thread that runs on a processor. Nil: without timers threads are stopped anyway; with them
	// nothing is known of a holder that runs.
	Peek func(cpu, tid int, word uint64) *perfevent.Peeked
}

// blame is what is known of the threads of a process that wait for others.
type blame struct {
	p       *process
	waiters map[*thread]*waiter
	late    []*waiter            // that wait no more, and have no name yet
	groups  map[contested]*group // of this round
	order   []*group
	inside  map[int]int // threads by their own numbers, in another PID namespace
	foreign bool        // it is in one
	asked   bool        // foreign is known
	gen     uint64      // of the roster, when inside was made
	buf     [futex.Before + futex.After]byte
}

func newBlame(p *process) *blame {
	if p.sampler.opt.Blame == nil {
		return nil
	}
	return &blame{p: p, waiters: make(map[*thread]*waiter), groups: make(map[contested]*group)}
}

// begin forgets what the round before has found.
func (b *blame) begin() {
	if b == nil {
		return
	}
	b.nameLate()
	clear(b.groups)
	b.order = b.order[:0]
	for _, w := range b.waiters {
		w.group, w.answered = nil, false
	}
}

// rest asks which threads those wait for that the round did not need to read. They sleep, as before.
func (b *blame) rest() {
	if b == nil {
		return
	}
	for _, w := range b.waiters {
		if w.group == nil {
			b.ask(w)
		}
	}
}

// finish counts the time since the round before.
func (b *blame) finish(now time.Duration) {
	if b == nil {
		return
	}
	for _, g := range b.order {
		for _, w := range g.waiters {
			if !w.answered {
				b.accuse(g)
				w.answer, w.answered = g.answer, true
			}
		}
	}
	for _, g := range b.order {
		for _, w := range g.waiters {
			if b.waiters[w.t] != w || !w.named && g.lock.Kind == futex.Unknown {
				continue // it has ended; it is counted when the name is known
			}
			c, wants := b.follow(w), place{g.lock.Addr, g.lock.Kind}
			b.owe(w, c, wants, now-w.since)
			w.since = now
		}
	}
}

// settle finds out which thread holds what those wait for whose functions were not named while they were sampled, now
// that all names are known: they wait still, and which thread has the lock can be read.
func (b *blame) settle() {
	if b == nil || b.p.image == nil || b.p.image.Is32Bit() {
		return
	}
	b.p.namer.stop()
	b.p.space.ResolveAll()
	b.begin()
	b.rest()
	b.finish(b.p.account.last)
}

// close names the locks of an image that is about to go.
func (b *blame) close() {
	if b == nil || b.p.image == nil || b.p.space == nil {
		return
	}
	for t := range b.waiters {
		b.left(t)
	}
	b.nameLate()
	for _, w := range b.late {
		b.conclude(w)
	}
	b.late = nil
	if i, ok := b.p.image.(interface {
		Place(addr uint64) (symbol string, offset uint64, object string)
	}); ok {
		b.p.space.PlaceLocks(i.Place)
	}
}
