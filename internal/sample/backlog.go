package sample

import (
	"math/bits"
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

// recordPool has copies of records that are used again. A sync.Pool loses them to each garbage collection: who holds the lock of
// the Windows then has to allocate, and waits for the collector, and all others with him.
type recordPool struct {
	mu    sync.Mutex
	free  [mostRoom + 1][]*perfevent.Record // by the logarithm of the room for a stack
	bytes int
	keeps bool // records are copied now; after the last window none is kept
}

const (
	leastRoom = 10      // the logarithm of the least room
	mostRoom  = 16      // and of the most: the kernel copies no larger stack
	mostFree  = 8 << 20 // bytes in a pool
)

// copy returns a copy of a record. What r refers to is valid only while it is read.
func (p *recordPool) copy(r *perfevent.Record) *perfevent.Record {
	class := classOf(r)
	if class > mostRoom {
		k := new(perfevent.Record)
		copyRecord(k, r)
		return k
	}
	var k *perfevent.Record
	p.mu.Lock()
	p.keeps = true
	if free := p.free[class]; len(free) > 0 {
		k, p.free[class] = free[len(free)-1], free[:len(free)-1]
		p.bytes -= 1 << class
	}
	p.mu.Unlock()
	if k == nil {
		k = &perfevent.Record{Stack: make([]byte, 0, 1<<class)}
	}
	copyRecord(k, r)
	return k
}

// put takes records that nobody uses any more.
func (p *recordPool) put(records ...*perfevent.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range records {
		if class := bits.Len(uint(cap(k.Stack))) - 1; class >= leastRoom && class < len(p.free) && p.keeps && p.bytes+1<<class <= mostFree {
			p.free[class] = append(p.free[class], k)
			p.bytes += 1 << class
		}
	}
}

// clear forgets all, and what comes until the next copy.
func (p *recordPool) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free, p.bytes, p.keeps = [len(p.free)][]*perfevent.Record{}, 0, false
}

// classOf returns the logarithm of the room for the stack of a record.
func classOf(r *perfevent.Record) int {
	return max(bits.Len(uint(max(len(r.Stack), 1)-1)), leastRoom)
}

// size returns how much memory a copy of a record takes.
func size(r *perfevent.Record) int {
	n := 1<<classOf(r) + 8*(len(r.Chain)+len(r.KernelChain)) + 512
	if r.Pages != nil {
		n += len(r.Pages.Data)
	}
	return n
}

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
		s.lost.dropped++
		return
	}
	b.bytes += n
	w.backlog.Add(int64(n))
	b.list = append(b.list, backlogEntry{tick: w.room.copy(r)})
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
				s.w.room.put(e.tick)
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

// copyRecord copies a record.
func copyRecord(k, r *perfevent.Record) {
	stack, chain, kernel, pages := k.Stack[:0], k.Chain[:0], k.KernelChain[:0], k.Pages
	*k = *r
	if r.Pages != nil {
		if pages == nil {
			pages = new(perfevent.Pages)
		}
		pages.Set(r.Pages)
		k.Pages = pages
	}
	k.Stack, k.Chain, k.KernelChain = append(stack, r.Stack...), append(chain, r.Chain...), append(kernel, r.KernelChain...)
}
