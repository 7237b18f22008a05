package tracee

import (
	"sync"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// A reaper breaks a deadlock in the kernel:
//   - PTRACE_SEIZE sleeps for cred_guard_mutex while the target is in execve(2).
//   - The execve of a process with several threads holds that mutex, and sleeps until its
//     other threads are reaped.
//   - The threads that are seized already have to be reaped by their tracer, which sleeps in
//     PTRACE_SEIZE.
//
// The kernel lets any thread of the tracer's process reap them. So a timer does it when a
// seize takes long, and hands over the wait statuses. It asks the kernel which threads are
// ours: a thread that was born to a seized thread may have no record yet. A thread that keeps its wait
// status is no obstacle: the execve kills it, and its end is another wait status. The leader is left
// alone: execve waits for its end only, and its exit status may be for this program to collect.
type reaper struct {
	timer *time.Timer

	mu     sync.Mutex
	pid    int                // process whose thread is being seized
	keep   func(tid int) bool // threads whose wait statuses are left alone
	since  time.Time          // when the present seize began; zero between seizes
	stops  []ptrace.Stop      // collected during the present seize
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

// enter is called before a thread of a process is seized, and leave after that.
func (r *reaper) enter(pid int, keep func(tid int) bool) {
	r.mu.Lock()
	r.pid, r.keep, r.since = pid, keep, time.Now()
	r.mu.Unlock()
}

// leave returns what was collected meanwhile, in the kernel's order for each thread.
func (r *reaper) leave() []ptrace.Stop {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = time.Time{}
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
		tids, _ := procfs.Tasks(r.pid, nil) // error: the process has ended, with nothing to be reaped
		for _, tid := range tids {
			if tid == r.pid || r.keep(tid) {
				continue
			}
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
