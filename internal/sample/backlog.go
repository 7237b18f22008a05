package sample

import (
	"sync"

	"ptools/internal/perfevent"
)

// A backlog is what is to be done for a process, in order: ticks to be unwound, and functions to be called. One goroutine
// works it off, and ends when nothing is left. A process whose memory or files do not answer, or whose tables take
// long, so keeps its own windows waiting, and no others. Entries are added under the lock of the Windows too. That one is not taken to work
// them off: who opens a window, or reads ticks for a round, does not queue behind the work for all processes.
type backlog struct {
	mu      sync.Mutex
	list    []backlogEntry
	bytes   int // of the copies of stacks in it
	working bool

	unsettled bool // settle has to be called again
}

// backlogEntry is a tick, or a function.
type backlogEntry struct {
	tick *perfevent.Record
	call func()
}

// Bounds of what waits. Between two readings of the buffers a processor takes ticksPerRead ticks, of some 64 KiB each at
// most. A tick for which there is no room is lost.
const (
	mostBacklog    = 8 << 20  // bytes of a process
	mostBacklogAll = 32 << 20 // bytes of all processes, and of taps; beyond them each process may have leastBacklog
	leastBacklog   = 256 << 10
)

// room has records that are used again.
var room = sync.Pool{New: func() any { return new(perfevent.Record) }}

// size returns how much memory a record takes.
func size(r *perfevent.Record) int { return len(r.Stack) + 8*(len(r.Chain)+len(r.KernelChain)) + 512 }

// do has f called when what is in the backlog has been done. The lock of the Windows is held.
func (s *timed) do(f func()) {
	s.backlog.mu.Lock()
	defer s.backlog.mu.Unlock()
	s.backlog.list = append(s.backlog.list, backlogEntry{call: f})
	s.wake()
}

// keep copies a tick into the backlog. The lock of the Windows is held.
func (s *timed) keep(r *perfevent.Record) {
	w, b := s.w, &s.backlog
	n := size(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes+n > mostBacklog || w.backlog.Load()+int64(n) > mostBacklogAll && b.bytes+n > leastBacklog {
		w.lost.Add(1)
		return
	}
	k := room.Get().(*perfevent.Record)
	copyRecord(k, r)
	b.bytes += n
	w.backlog.Add(int64(n))
	b.list = append(b.list, backlogEntry{tick: k})
	s.wake()
}

// remind has what is unsettled looked at again. The lock of the Windows is held.
func (s *timed) remind() {
	s.backlog.mu.Lock()
	defer s.backlog.mu.Unlock()
	if s.backlog.unsettled {
		s.wake() // settle follows
	}
}

// wake begins to work the backlog off, unless that is under way. Both locks are held.
func (s *timed) wake() {
	if s.backlog.working {
		return
	}
	s.backlog.working = true
	if s.w.closed { // Close may have waited already
		go s.work() // ends with the backlog
		return
	}
	s.w.readers.Go(s.work) // likewise; Close waits
}

// work works the backlog off.
func (s *timed) work() {
	b, more := &s.backlog, true
	for done := []backlogEntry(nil); more; {
		b.mu.Lock()
		todo := b.list
		b.list = done[:0]
		b.mu.Unlock()
		for _, e := range todo {
			if e.call != nil {
				e.call()
			} else {
				s.take(e.tick)
			}
		}
		unsettled, bytes := s.settle(), 0
		for _, e := range todo {
			if e.tick != nil {
				bytes += size(e.tick)
				room.Put(e.tick)
			}
		}
		clear(todo)
		done = todo
		s.w.backlog.Add(int64(-bytes))
		s.w.spent.add(&s.cost)
		b.mu.Lock()
		b.bytes -= bytes
		b.unsettled = unsettled
		more = len(b.list) > 0
		b.working = more
		b.mu.Unlock()
	}
}

// spent is the cost of all processes.
type spent struct {
	mu   sync.Mutex
	cost Cost
}

// add adds the cost of a process, which begins anew.
func (t *spent) add(c *Cost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cost.Add(c)
	*c = Cost{}
}

// copyRecord copies a record. What r refers to is valid only while it is read.
func copyRecord(k, r *perfevent.Record) {
	stack, chain, kernel := k.Stack[:0], k.Chain[:0], k.KernelChain[:0]
	*k = *r
	k.Stack, k.Chain, k.KernelChain = append(stack, r.Stack...), append(chain, r.Chain...), append(kernel, r.KernelChain...)
}
