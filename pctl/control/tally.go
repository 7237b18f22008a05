package control

import (
	"io"
	"sync"
	"sync/atomic"

	"ptools/internal/perfevent"
)

// tally is the kernel's count of one instruction. It outlives the probe. Any goroutine may
// ask for it.
type tally struct {
	mu      sync.Mutex
	counter *perfevent.Counter // nil when it has been given up
	last    uint64
}

// count returns how often the instruction has been reached.
func (t *tally) count() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counter != nil {
		return t.counter.Count()
	}
	return t.last
}

// freeze gives up the counter, and keeps what it has counted.
func (t *tally) freeze() io.Closer {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counter
	t.counter, t.last = nil, c.Count()
	return c
}

// Close is freeze for a tally that has not been used.
func (t *tally) Close() error { return t.freeze().Close() }

// share is one owner's part of a tally: what is counted between newShare and end. Any
// goroutine may ask for it. A nil share counts nothing.
type share struct {
	tally  *tally
	base   uint64
	owners int // places of one owner that it is for; the control goroutine's
	final  atomic.Pointer[uint64]
}

// newShare returns what is counted from now on.
func newShare(t *tally) *share { return &share{tally: t, base: t.count(), owners: 1} }

func (s *share) count() uint64 {
	if s == nil {
		return 0
	}
	if n := s.final.Load(); n != nil {
		return *n
	}
	return s.tally.count() - s.base
}

// end stops the counting for one place, and all counting with the last.
func (s *share) end() {
	if s == nil {
		return
	}
	if s.owners--; s.owners <= 0 && s.final.Load() == nil {
		n := s.count()
		s.final.Store(&n)
	}
}
