package sample

import (
	"time"

	"ptools/internal/futex"
	"ptools/internal/perfevent"
)

// Rounds find out which threads hold the locks that others wait for, because they see the waiting threads anyway. A
// thread that sleeps in futex(2) shows the address of a word. The memory around it has the number of the thread that
// holds the lock (internal/futex). The time since the round before counts as waiting time of the thread that waits.
// It is blamed on the holder's stack at that moment (holder.go). The stack of a sleeping holder is known; a running
// holder is looked at. Then the word is read again. If the lock has another owner by then, no thread is blamed.
//
// If the holder waits for a lock itself, the holder of that lock is blamed, and so on.
//
// Things that never have an owner, such as condition variables, are counted as such. Their memory is not read.

// Blame has a sampler find out which threads hold the locks that others wait for.
type Blame struct {
	// Peek looks at a thread that runs on a processor. Nil: with timers nothing is known of a running holder;
	// without timers running threads are stopped anyway.
	Peek func(cpu, tid int, word uint64) *perfevent.Peeked
}

// blame is what is known about the threads of a process that wait for others.
type blame struct {
	p       *process
	waiters map[*thread]*waiter
	late    []*waiter            // waits that are over, and have no name yet
	groups  map[contested]*group // of this round
	order   []*group
	inside  map[int]int // threads by their numbers in the process's own PID namespace
	foreign bool        // the process is in another PID namespace
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

// begin forgets the results of the round before.
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

// rest finds out which threads are waited for by the threads that the round did not need to read. Those sleep, as
// before.
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
				continue // the wait has ended, or it is counted when its name is known
			}
			c, wants := b.follow(w), place{g.lock.Addr, g.lock.Kind}
			b.owe(w, c, wants, now-w.since)
			w.since = now
		}
	}
}

// settle handles the waiting threads whose functions had no names while they were sampled. Now all names are known.
// The threads still wait, so the owner of each lock can be read.
func (b *blame) settle() {
	if b == nil || b.p.image == nil || b.p.image.Is32Bit() {
		return
	}
	b.p.refresh.settle(b.p.mapped()) // what a thread waits for is told by the name of the function in which it waits
	b.begin()
	b.rest()
	b.finish(b.p.account.last)
}

// close names the locks of an image that is about to go.
func (b *blame) close() {
	if b == nil || b.p.image == nil || b.p.space == nil {
		return
	}
	b.p.refresh.settle(b.p.mapped()) // what a thread waits for is told by the name of the function in which it waits
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
