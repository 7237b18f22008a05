package sample

import "ptools/internal/perfevent"

// A backlog is what is to be done for a process, in order: ticks to be unwound, and functions to be called. One goroutine
// works it off, and ends when nothing is left. A process whose memory or files do not answer, or whose tables take
// long, so keeps its own windows waiting, and no others. The lock of the Windows guards the backlog.
type backlog struct {
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
	mostRoom       = 64 // records that are kept for use again
)

// size returns how much memory a record takes.
func size(r *perfevent.Record) int { return len(r.Stack) + 8*(len(r.Chain)+len(r.KernelChain)) + 512 }

// do has f called when what is in the backlog has been done. The lock is held.
func (s *timed) do(f func()) {
	s.backlog.list = append(s.backlog.list, backlogEntry{call: f})
	s.wake()
}

// keep copies a tick into the backlog. The lock is held.
func (s *timed) keep(r *perfevent.Record) {
	w, b := s.w, &s.backlog
	n := size(r)
	if b.bytes+n > mostBacklog || w.backlog+n > mostBacklogAll && b.bytes+n > leastBacklog {
		w.cost.Lost++
		return
	}
	k := new(perfevent.Record)
	if last := len(w.room) - 1; last >= 0 {
		k, w.room = w.room[last], w.room[:last]
	}
	copyRecord(k, r)
	b.bytes += n
	w.backlog += n
	b.list = append(b.list, backlogEntry{tick: k})
	s.wake()
}

// wake begins to work the backlog off, unless that is under way. The lock is held.
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
	w := s.w
	var done []backlogEntry
	for {
		w.mu.Lock()
		w.returned(s, done)
		todo := s.backlog.list
		s.backlog.list, s.backlog.working = done[:0], len(todo) > 0
		w.cost.Add(&s.cost)
		s.cost = Cost{}
		w.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for _, e := range todo {
			if e.call != nil {
				e.call()
			} else {
				s.take(e.tick)
			}
		}
		unsettled := s.settle()
		w.mu.Lock()
		s.backlog.unsettled = unsettled
		w.mu.Unlock()
		done = todo
	}
}

// returned takes back the copies of ticks that have been worked off.
func (w *Windows) returned(s *timed, done []backlogEntry) {
	for _, e := range done {
		if e.tick == nil {
			continue
		}
		n := size(e.tick)
		s.backlog.bytes -= n
		w.backlog -= n
		if len(w.room) < mostRoom {
			w.room = append(w.room, e.tick)
		}
	}
	clear(done)
}

// copyRecord copies a record. What r refers to is valid only while it is read.
func copyRecord(k, r *perfevent.Record) {
	stack, chain, kernel := k.Stack[:0], k.Chain[:0], k.KernelChain[:0]
	*k = *r
	k.Stack, k.Chain, k.KernelChain = append(stack, r.Stack...), append(chain, r.Chain...), append(kernel, r.KernelChain...)
}
