package control

import (
	"os/signal"
	"sync"
	"sync/atomic"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// TestAlarmIgnored attaches to a process whose thread cannot be stopped, which only the alarm
// finds out, while the host program ignores every signal that it has no use for.
func TestAlarmIgnored(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "vforkwait.c"))
	g.Ready()
	var over atomic.Bool
	var wg sync.WaitGroup
	defer signal.Reset(ptrace.BellSignal)
	wg.Go(func() {
		for !over.Load() {
			signal.Ignore(ptrace.BellSignal)
		}
	})
	for range ptest.Rounds(5, 20, 200) {
		c, err := Attach(bg, g.PID, &Options{Stop: notify.Grab})
		if err != nil {
			t.Fatal(err)
		}
		release(t, c, ModeRun)
	}
	over.Store(true)
	wg.Wait()
}
