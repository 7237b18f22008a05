package tracee

import (
	"sync"
	"time"

	"ptools/internal/ptrace"
)

// A reaper breaks a deadlock of the kernel's making. PTRACE_SEIZE sleeps while the
// target is in execve(2), for cred_guard_mutex; the execve of a process with several
// threads sleeps, holding it, until its other threads are reaped; and those that are
// seized already are for their tracer to reap, which sleeps in PTRACE_SEIZE. The
// kernel lets any thread of the tracer's process reap them, so a timer does when a
// seize takes long, and hands over what it has collected.
type reaper struct {
	timer *time.Timer

	mu     sync.Mutex
	tids   []int         // seized so far
	since  time.Time     // when the present seize began; zero between two
	stops  []ptrace.Stop // collected during the present seize
	closed bool
}

// reapAfter is how long a seize may take before its reaper looks.
const reapAfter = 10 * time.Millisecond

func newReaper() *reaper {
	r := &reaper{}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(reapAfter, r.tick)
	return r
}

// enter is called before a seize, leave after it.
func (r *reaper) enter() {
	r.mu.Lock()
	r.since = time.Now()
	r.mu.Unlock()
}

// leave returns what was collected meanwhile, in the kernel's order for each thread.
func (r *reaper) leave(tid int, seized bool) []ptrace.Stop {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = time.Time{}
	if seized {
		r.tids = append(r.tids, tid)
	}
	stops := r.stops
	r.stops = nil
	return stops
}

// tick runs on the timer's goroutine.
func (r *reaper) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if !r.since.IsZero() && time.Since(r.since) >= reapAfter {
		for _, tid := range r.tids {
			if s, err := ptrace.WaitTID(tid, false); err == nil && s.Kind != ptrace.KindNone {
				r.stops = append(r.stops, s)
			}
		}
	}
	r.timer.Reset(reapAfter)
}

func (r *reaper) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.timer.Stop()
}
