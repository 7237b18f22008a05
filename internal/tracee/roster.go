package tracee

import (
	"sync"
	"sync/atomic"
)

// Roster has the TIDs of the target's threads, for other goroutines.
type Roster struct {
	mu   sync.Mutex
	set  map[int]struct{}
	tids atomic.Pointer[[]int] // copy of the set, nil when it has changed
	Gen  atomic.Uint64
}

// Numbers returns the TIDs of the threads. The slice must not be changed.
func (r *Roster) Numbers() []int {
	if p := r.tids.Load(); p != nil {
		return *p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tids := make([]int, 0, len(r.set))
	for tid := range r.set {
		tids = append(tids, tid)
	}
	r.tids.Store(&tids)
	return tids
}

func (r *Roster) enlist(tid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set[tid] = struct{}{}
	r.changed()
}

func (r *Roster) strike(tid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.set, tid)
	r.changed()
}

func (r *Roster) changed() {
	r.tids.Store(nil)
	r.Gen.Add(1)
}
