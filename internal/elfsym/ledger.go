package elfsym

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// mostHeld is how many bytes all files and perf maps together may hold in memory.
const mostHeld = 96 << 20

// idleAfter is how long a file has to be unused before others take its memory, whatever they need it for.
const idleAfter = 10 * time.Second

// askAgain is how long a file that was refused memory is refused more without a look at what others hold: tables may ask for it a
// million times.
const askAgain = 100 * time.Millisecond

// books is the ledger of this program.
var books = newLedger(mostHeld)

func newLedger(most int64) *ledger {
	return &ledger{most: most, began: time.Now().Add(-time.Second), holders: make(map[*holding]struct{})}
}

// A ledger bounds what all files hold together: each may be within its budget, and there is any number of them. While there is
// room, a file may hold what its budget allows. When there is none, a file that was not used for a while lets go of all that
// can be read again. If all are in use, those that hold more than an equal share make room for those that hold less, and get
// no more themselves. From then on they keep to their share, until half of the ledger is free.
type ledger struct {
	most  int64
	began time.Time
	total atomic.Int64

	mu      sync.Mutex
	holders map[*holding]struct{}
	swept   time.Time
}

// A holding is what one file, with its debug files, holds of a ledger. Its methods may be called from any goroutine.
type holding struct {
	in     *ledger
	n      atomic.Int64
	denied atomic.Bool // it lacks something for which there was no memory
	usage

	// forget lets go of all that can be read again, and then calls release. It reports false if that is not possible
	// just now. It must not wait: another file's locks are held. It must not keep the file alive.
	forget func() bool

	fixed int64 // bytes that stay as long as the file is open, beside n
}

// usage is what a ledger knows of the use of a holding.
type usage struct {
	known atomic.Bool // it is among the holders
	used  atomic.Bool // since the last sweep
	idle  bool        // at the last sweep; under the lock of the ledger

	limit   atomic.Int64 // what it may hold, after it had to make room while it was in use; 0: any number of bytes
	refused atomic.Int64 // when memory was last refused, since the ledger began; 0: not since it had some
}

// newHolding returns the holding of a file that cannot let go of anything.
func newHolding(l *ledger) *holding {
	return &holding{in: l, forget: func() bool { return false }}
}

// bind has forget let go of what owner holds, as long as there is an owner. When there is none any more all is given back, perhaps
// before leave is called: that needs the lock of the ledger, which room has.
func bind[T any](h *holding, owner *T, forget func(*T) bool) {
	w := weak.Make(owner)
	h.forget = func() bool {
		if o := w.Value(); o != nil {
			return forget(o)
		}
		h.release()
		return true
	}
	runtime.AddCleanup(owner, (*holding).leave, h)
}

// fix notes that n bytes are held for as long as the file is open.
func (h *holding) fix(n int64) {
	h.fixed = n
	h.in.total.Add(n)
}

// take reports whether n more bytes may be held.
func (h *holding) take(n int64) bool {
	h.use()
	own, total := h.n.Add(n), h.in.total.Add(n)
	if most := h.limit.Load(); most > 0 {
		if own > most && total > h.in.most/2 {
			h.give(n)
			return false
		}
		if total <= h.in.most/2 {
			h.limit.Store(0)
		}
	}
	if total <= h.in.most && h.known.Load() {
		return true
	}
	if at := h.refused.Load(); at == 0 || time.Since(h.in.began)-time.Duration(at) > askAgain {
		if h.in.room(h) {
			h.refused.Store(0)
			return true
		}
		h.refused.Store(int64(time.Since(h.in.began)))
	}
	h.give(n)
	return false
}

// give gives n bytes back.
func (h *holding) give(n int64) {
	h.n.Add(-n)
	h.in.total.Add(-n)
}

// release gives everything back. What is still taken for what was let go, by goroutines that use it, is counted until the next
// release.
func (h *holding) release() {
	h.denied.Store(false)
	h.refused.Store(0)
	h.in.total.Add(-h.n.Swap(0))
}

// leave takes a file that is gone out of the ledger.
func (h *holding) leave() {
	h.in.mu.Lock()
	defer h.in.mu.Unlock()
	delete(h.in.holders, h)
	h.release()
	h.in.total.Add(-h.fixed)
}

func (h *holding) use() {
	if !h.used.Load() { // a cache line that many read
		h.used.Store(true)
	}
}

// touch notes that the file is used. A file that was refused memory begins anew once half of the ledger is free.
func (h *holding) touch() {
	h.use()
	if h.denied.Load() && h.in.total.Load() < h.in.most/2 {
		h.forget()
	}
}

// room makes room for what h has taken, and reports whether there is enough.
func (l *ledger) room(h *holding) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !h.known.Swap(true) {
		l.holders[h] = struct{}{}
	}
	if l.total.Load() <= l.most {
		return true
	}
	l.sweep()
	var busy map[*holding]bool
	for l.total.Load() > l.most {
		v := l.victim(h, busy)
		if v == nil {
			return false
		}
		n := v.n.Load()
		if !v.forget() || v.n.Load() >= n {
			if busy == nil {
				busy = make(map[*holding]bool)
			}
			busy[v] = true
		}
	}
	return true
}

// sweep finds out which files are in use.
func (l *ledger) sweep() {
	if time.Since(l.swept) < idleAfter {
		return
	}
	l.swept = time.Now()
	for h := range l.holders {
		h.idle = !h.used.Swap(false)
	}
}

// victim returns the holding that has to let go for h: the largest of those that are idle, or else the largest of all, if h has no
// more than its share and the other one more.
func (l *ledger) victim(h *holding, busy map[*holding]bool) *holding {
	var idle, largest *holding
	holders := int64(0)
	for o := range l.holders {
		n := o.n.Load()
		if n > 0 {
			holders++
		}
		if o == h || n <= 0 || busy[o] {
			continue
		}
		if largest == nil || n > largest.n.Load() {
			largest = o
		}
		if o.idle && !o.used.Load() && (idle == nil || n > idle.n.Load()) {
			idle = o
		}
	}
	if idle != nil {
		return idle
	}
	most := l.most / max(holders, 1)
	if largest == nil || h.n.Load() > most || largest.n.Load() <= most {
		return nil
	}
	largest.limit.Store(most) // otherwise it would have all of it back at once, and be read again and again
	return largest
}
