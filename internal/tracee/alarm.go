package tracee

import (
	"sync/atomic"
	"time"

	"ptools/internal/ptrace"
)

// Alarm interrupts the control goroutine's waits at intervals while it is on. A wait for
// threads that may not stop can look at them then. Starts nest.
type Alarm struct {
	every time.Duration
	timer *time.Timer
	stop  func()
	on    atomic.Int32
}

// Init makes the alarm ring bell at intervals of every. The timer's goroutines end by
// themselves.
func (a *Alarm) Init(bell *ptrace.Bell, every time.Duration) {
	a.every = every
	a.timer = time.AfterFunc(time.Hour, func() {
		if a.on.Load() > 0 {
			bell.Install() // Do installs it as well, but only while a requester waits
			bell.Ring()    // a ring too many only ends one wait early
			a.timer.Reset(every)
		}
	})
	a.timer.Stop()
	a.stop = func() {
		if a.on.Add(-1) == 0 {
			a.timer.Stop()
		}
	}
}

// start switches the alarm on until the function it returns is called.
func (a *Alarm) start() (stop func()) {
	if a.on.Add(1) == 1 {
		a.timer.Reset(a.every)
	}
	return a.stop
}
