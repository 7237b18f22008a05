package handle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
)

// TestGrabReleaseUpgradeStorm has goroutines grab, upgrade and release a few pids
// while processes exec, die and get each other's numbers. A grab must return a
// handle of the process that had the number during the grab. Controls of a process
// must not overlap, and nothing may be left.
func TestGrabReleaseUpgradeStorm(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 500
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const pids, clients = 5, 8
	w := newWorld(0, 1, 2, 3, 4)
	r := w.registry(t, 2)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var fate sync.WaitGroup
	fate.Go(func() {
		random := rand.New(rand.NewPCG(seed, 99))
		for {
			select {
			case <-stop:
				return
			default:
			}
			pid := random.IntN(pids)
			if random.IntN(3) > 0 {
				w.bear(pid)
			} else {
				w.mu.Lock()
				w.live[pid].state.CompareAndSwap(uint32(same), uint32(replaced))
				w.mu.Unlock()
			}
		}
	})
	for n := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		wg.Go(func() {
			for range rounds {
				pid := random.IntN(pids)
				w.mu.Lock()
				before := w.live[pid].start
				w.mu.Unlock()
				var h *Handle
				var err error
				if random.IntN(3) == 0 {
					h, err = r.Control(context.Background(), pid, func(context.Context) (Controlled, error) {
						w.mu.Lock()
						defer w.mu.Unlock()
						b := w.live[pid]
						if n := b.reins.Add(1); n != 1 {
							return nil, fmt.Errorf("%d controls of %d at once", n, pid)
						}
						return &turn{rein: newRein(), of: b}, nil
					})
				} else {
					h, err = r.Grab(context.Background(), pid)
				}
				if errors.Is(err, syscall.ESRCH) {
					continue // it ended in between
				}
				if err != nil {
					t.Error(err)
					return
				}
				if h.pid != pid || h.start < before {
					t.Errorf("grabbed %d (start %d), want %d (start %d or later)", h.pid, h.start, pid, before)
				}
				if err := h.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	fate.Wait()
}

// A turn is a control that its process counts.
type turn struct {
	*rein
	of *being
}

func (c *turn) Release() error {
	c.of.reins.Add(-1)
	return c.rein.Release()
}
