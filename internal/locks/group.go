package locks

import (
	"encoding/binary"
	"time"

	"ptools/internal/futex"
)

// contested is a word at which threads wait in functions of one kind.
type contested struct {
	addr uint64
	kind futex.Kind
	old  uint32 // the value that they expect
}

// group is the threads that wait for the same lock.
type group struct {
	contested
	lock    futex.Lock
	waiters []*waiter
	holder  found
	answer  charge        // what the waits are charged to
	asked   time.Duration // when answer was last confirmed
}

// found says what is known about the thread that the waits of a group are charged to.
type found uint8

const (
	notFound found = iota
	standing       // the owner was stopped for a sample, and held the lock then
	answered       // it is in group.answer
)

// collect puts a waiter into the group of those that wait for the same lock, if the lock may have an owner.
func (l *Table) collect(w *waiter) {
	if !w.owned() {
		return
	}
	k := contested{w.call.Addr, w.kind, w.call.Value}
	g := l.groups[k]
	if g == nil {
		g = &group{contested: k}
		l.groups[k] = g
		l.order = append(l.order, g)
	}
	g.waiters = append(g.waiters, w)
	w.group = g
}

// learn reads which thread holds a lock.
func (l *Table) learn(g *group) {
	c := g.waiters[0].call
	g.lock = c.Lock(g.kind, l.read(c.Addr), l.alive)
}

// read reads the memory around a futex. If it crosses the edge of a page, the readable part is read.
func (l *Table) read(addr uint64) futex.Memory {
	const page = 4096
	from, to := addr-futex.Before, addr+futex.After
	if n := l.image.ReadStack(l.buf[:], from); n == len(l.buf) {
		return futex.Memory{At: from, Bytes: l.buf[:]}
	}
	from, to = max(from, addr&^(page-1)), min(to, (addr|(page-1))+1)
	n := l.image.ReadStack(l.buf[:to-from], from)
	return futex.Memory{At: from, Bytes: l.buf[:n]}
}

// word reads a word again.
func (l *Table) word(addr uint64) (uint32, bool) {
	var word [4]byte
	n := l.image.ReadStack(word[:], addr)
	return binary.LittleEndian.Uint32(word[:]), n == len(word)
}

// stillHolds reports whether a lock still has the owner that was read.
func (l *Table) stillHolds(g *group) bool {
	word, ok := l.word(g.lock.OwnerAt)
	return ok && futex.Holds(word, g.lock.Owner)
}

// mostReread bounds the locks that are read while a thread is stopped.
const mostReread = 32

// Stopped is called while a thread is stopped for a sample, which is the time to see which locks it holds. It may hold a
// lock that another thread held when the round began.
func (l *Table) Stopped(tid int) {
	if l == nil {
		return
	}
	read := 0
	for _, g := range l.order {
		if g.lock.OwnerAt == 0 || g.holder != notFound || read == mostReread {
			continue
		}
		read++
		word, ok := l.word(g.lock.OwnerAt)
		if owner := futex.OwnerIn(word); ok && owner != 0 && l.numbers.outside(owner) == tid {
			g.lock.Owner, g.lock.Why, g.holder = owner, "", standing
		}
	}
}
