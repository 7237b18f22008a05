package control

import (
	"sync/atomic"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestBeside: what control reads beside itself holds up no thread that takes signals.
func TestBeside(t *testing.T) {
	needX86(t)
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: truth}, ptest.BuildC(t, "sigstorm.c"), "-n", "4000")
	g.Ready()
	c := attach(t, g.PID, nil)
	goal := truth.Work() + 1000
	if err := c.Do(bg, func() {
		c.tracees.Waiter.Beside(func(given *atomic.Bool) {
			for start := time.Now(); truth.Work() < goal && !given.Load(); {
				if time.Since(start) > 20*time.Second {
					t.Errorf("%d signals are missing", goal-truth.Work())
					return
				}
			}
		})
	}); err != nil {
		t.Fatal(err)
	}
}
