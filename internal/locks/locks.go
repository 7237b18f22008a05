// Package locks finds out which threads hold the locks that others wait for, and counts for how long they do.
//
// Rounds of a sampler see the waiting threads anyway. A thread that sleeps in futex(2) shows the address of a word. The memory around it
// has the number of the thread that owns the lock (internal/futex). The time since the round before counts as blocked time of the
// waiter. It is charged to the stack that the owner has at that moment (holder.go). The stack of a sleeping owner is known; a
// running owner is looked at. Then the word is read again. If the lock has another owner by then, the time is charged to no thread.
//
// If the owner waits for a lock itself, the time is charged to the owner of that lock, and so on.
//
// Things that never have an owner, such as condition variables, are counted as such. Their memory is not read.
//
// A [Table] is told by its sampler which threads of a process sleep in futex(2), round by round. What it has to know of the process
// it asks by the two interfaces. Its charges are in the profile.
package locks

import (
	"time"

	"ptools/internal/futex"
	"ptools/internal/profile"
)

// Process is what a Table asks about its process.
type Process interface {
	// Thread returns the thread with a number, nil if the process has none.
	Thread(tid int) Thread
	// Other returns the thread with a number of another process that is sampled, nil if there is none.
	Other(tid int) Thread
	// Threads returns the numbers of all threads. The list of a generation does not change.
	Threads() (tids []int, generation uint64)
	// Settle has all addresses named that were met.
	Settle()
}

// Thread is a thread of a process that is sampled. Threads that are equal are the same.
type Thread interface {
	TID() int
	ID() profile.ThreadID
	// Space has the stacks of its process.
	Space() *profile.Space
	// Shown is the stack of its last sample.
	Shown() profile.StackID
	// Look takes the stack that a thread has while it holds a lock. No thread is stopped for that.
	Look(l *futex.Lock) Sight
}

// Sight is what a look at the owner of a lock has shown.
type Sight struct {
	Stack profile.StackID
	Held  bool   // the lock's word was read at the moment of Stack, and the thread held it
	Moved bool   // the thread moved during the look: there is no stack
	Why   string // why there is no stack, if that is known
}

// Image is the memory of one image of a process. It may have a method Place as well, which names an address of data.
type Image interface {
	// ReadStack copies memory from addr upwards into p, and returns how much could be read.
	ReadStack(p []byte, addr uint64) int
}

// Options say what a Table is about.
type Options struct {
	PID     int
	Profile *profile.Profile
	// Now is the time that rounds are told.
	Now func() time.Duration
	// Stops says that the threads that run are stopped in each round. A running owner is then found when it is stopped.
	Stops bool
}

// Table is what is known about the threads of a process that wait for others. A nil Table takes no part.
type Table struct {
	p       Process
	opt     Options
	image   Image
	space   *profile.Space
	last    time.Duration // time of the previous round
	waiters map[Thread]*waiter
	late    []*waiter            // waits that are over, and have no name yet
	groups  map[contested]*group // of this round
	order   []*group
	numbers numbers
	buf     [futex.Before + futex.After]byte
}

// New returns a Table. It has to be opened.
func New(p Process, o Options) *Table {
	return &Table{p: p, opt: o, numbers: numbers{pid: o.PID, p: p}, waiters: make(map[Thread]*waiter), groups: make(map[contested]*group)}
}

// Open begins with an image of the process.
func (l *Table) Open(image Image, space *profile.Space) {
	if l != nil {
		l.image, l.space = image, space
	}
}

// Begin begins a round. last is the time of the one before.
func (l *Table) Begin(last time.Duration) {
	if l == nil {
		return
	}
	l.last = last
	l.nameLate()
	clear(l.groups)
	l.order = l.order[:0]
	for _, w := range l.waiters {
		w.group, w.answered = nil, false
	}
}

// Rest finds out which threads are waited for by the threads that the round did not need to read. Those sleep, as
// before.
func (l *Table) Rest() {
	if l == nil {
		return
	}
	for _, w := range l.waiters {
		if w.group == nil {
			l.ask(w)
		}
	}
}

// Finish ends a round, and counts the time since the one before.
func (l *Table) Finish(now time.Duration) {
	if l == nil {
		return
	}
	l.last = now
	for _, g := range l.order {
		for _, w := range g.waiters {
			if !w.answered {
				l.find(g)
				w.answer, w.answered = g.answer, true
			}
		}
	}
	for _, g := range l.order {
		for _, w := range g.waiters {
			if l.waiters[w.t] != w || !w.named && g.lock.Kind == futex.Unknown {
				continue // the wait has ended, or it is counted when its name is known
			}
			c, wants := l.follow(w), place{g.lock.Addr, g.lock.Kind}
			l.add(w, c, wants, now-w.since)
			w.since = now
		}
	}
}

// Settle handles the waiting threads whose functions had no names while they were sampled. Now all names are known.
// The threads still wait, so the owner of each lock can be read.
func (l *Table) Settle() {
	if l == nil || l.space == nil {
		return
	}
	l.p.Settle() // what a thread waits for is told by the name of the function in which it waits
	l.Begin(l.last)
	l.Rest()
	l.Finish(l.last)
}

// Close names the locks of an image that is about to go.
func (l *Table) Close() {
	if l == nil || l.space == nil {
		return
	}
	l.p.Settle() // what a thread waits for is told by the name of the function in which it waits
	for t := range l.waiters {
		l.Left(t)
	}
	l.nameLate()
	for _, w := range l.late {
		l.conclude(w)
	}
	l.late = nil
	if i, ok := l.image.(interface {
		Place(addr uint64) (symbol string, offset uint64, object string)
	}); ok {
		l.space.PlaceLocks(i.Place)
	}
}
