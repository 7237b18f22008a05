package guard

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
)

// Reasons why there is no guard (Guard.Err).
var (
	errGone = errors.New("the guard process has ended")
	errFull = errors.New("too many traps")
)

// A Guard has the guard process and the ledger. The zero value is ready. It may be used from any
// goroutine.
type Guard struct {
	mu         sync.Mutex
	watches    int // not yet closed
	err        error
	deathWatch *deathWatch // nil while there is no guard process
	ledger     ledger
}

// Err returns why traps that are planted now would outlive us. It returns nil if the guard is there, or
// is not needed. A guard process that has ended is not replaced while there are watches. After all have
// been closed, the next watch starts a new one.
func (g *Guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deathWatch != nil && g.err == nil && g.deathWatch.ended() {
		g.err = errGone
	}
	return g.err
}

// join adds one watch.
func (g *Guard) join() {
	g.mu.Lock()
	g.watches++
	g.mu.Unlock()
}

// part removes one watch. With the last one the guard process ends, and has been waited for when part
// returns.
func (g *Guard) part() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watches--; g.watches == 0 {
		g.stop()
		g.err = nil
	}
}

// put records a patch. The first put starts the guard process. ok is false if there is no guard process.
func (g *Guard) put(p patch) (record int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deathWatch == nil && g.err == nil {
		g.err = g.start()
	}
	if g.deathWatch == nil {
		return 0, false
	}
	record, ok = g.ledger.put(p)
	if !ok {
		g.err = errFull
	}
	return record, ok
}

// drop forgets a patch.
func (g *Guard) drop(record int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ledger.drop(record)
}

// start makes the ledger and the guard process.
func (g *Guard) start() error {
	b, err := syscall.Mmap(-1, 0, ledgerSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		return fmt.Errorf("guard process: %w", err)
	}
	copy(b[8*nameWord:], "ptools-guard")
	g.ledger = newLedger(b)
	if g.deathWatch, err = newDeathWatch(g.ledger.words); err != nil {
		g.stop()
	}
	return err
}

// stop undoes start.
func (g *Guard) stop() {
	if g.deathWatch != nil {
		g.deathWatch.kill()
		g.deathWatch = nil
	}
	if g.ledger.raw != nil {
		_ = syscall.Munmap(g.ledger.raw) // it is what Mmap returned
		g.ledger = ledger{}
	}
}
