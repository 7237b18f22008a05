package control

import (
	"syscall"
	"time"

	"ptools/internal/ptrace"
)

// collect handles reports until none of threads is wanted any more. tick is called
// every millisecond or so.
//
// wait4(2) for any thread looks at every tracee, which makes stopping n threads cost
// n² looks. These threads are known, so each is asked for by its number: first the
// one that was interrupted last, since the others will mostly have stopped by then;
// then all of them, without sleeping.
func (c *Controller) collect(threads []*thread, wanted func(*thread) bool, tick func()) {
	c.read()
	pending := threads
	for polls := c.polls(len(threads)); !c.over; polls-- {
		pending = c.sweep(pending, wanted)
		if len(pending) == 0 {
			return
		}
		if polls <= 0 {
			c.waitFor(pending[len(pending)-1], wanted, tick)
		}
	}
}

// polls returns how many sweeps are worth making before sleeping: a thread that runs
// on another processor stops within microseconds, and being woken costs as much.
func (c *Controller) polls(n int) int {
	if c.spin.off || n > 4 {
		return 1
	}
	return 40
}

// sweep takes the reports that are there from the threads that are wanted, and
// returns those that are wanted still. It reuses the slice.
func (c *Controller) sweep(threads []*thread, wanted func(*thread) bool) []*thread {
	left := threads[:0]
	for _, t := range threads {
		if c.over {
			return nil
		}
		if wanted(t) {
			c.take(t)
		}
		if wanted(t) {
			left = append(left, t)
		}
	}
	return left
}

// take handles the report of one thread if there is one.
func (c *Controller) take(t *thread) {
	if len(c.stolen) > 0 || c.own && t.tid == c.pid {
		// In order, and not the exit status that is somebody else's.
		if s, err := c.pollNow(); err == nil && s.Kind != ptrace.KindNone {
			c.dispatch(s)
			c.read()
		}
		return
	}
	s, err := c.waitTID(t.tid, false)
	switch {
	case err == syscall.ECHILD && t.tid != c.pid:
		c.vanished(t)
	case err == nil && s.Kind != ptrace.KindNone:
		c.dispatch(s)
		c.read()
	}
}

// waitFor sleeps until one thread has something to report. Whatever the others have
// to say is listened to when that takes long: they may be what it waits for.
func (c *Controller) waitFor(t *thread, wanted func(*thread) bool, tick func()) {
	defer c.alarm.start()()
	for start := time.Now(); !c.over && wanted(t); {
		if c.own && t.tid == c.pid || len(c.stolen) > 0 {
			c.drain()
			if wanted(t) {
				c.report(c.wait(true))
			}
			return
		}
		s, err := c.waitTID(t.tid, true)
		if err == nil && s.Kind != ptrace.KindNone { // none: it was killed in its stop
			c.dispatch(s)
			c.read()
			return
		}
		c.drain()
		if err == syscall.ECHILD && wanted(t) && c.threads[t.tid] == t {
			if t.tid != c.pid {
				c.vanished(t)
				return
			}
			c.report(c.wait(true)) // only its end explains that
			return
		}
		if time.Since(start) > ringAgain {
			tick()
		}
	}
}
