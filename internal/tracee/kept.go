package tracee

import (
	"time"

	"ptools/internal/ptrace"
)

// A thread that is held in a signal-delivery stop keeps its wait status, unread, until it is resumed. If we die
// meanwhile the kernel delivers the signal. But waitid(2) for any thread would return that wait status again and again. So
// while there are such threads the others are asked for by number, and control naps instead of sleeping in the wait.

// Naps between two looks at the threads.
const (
	shortNap  = 100 * time.Microsecond // while threads are awaited
	longNap   = 5 * time.Millisecond   // while all are held: nothing but an end is to come
	napThread = 10 * time.Microsecond  // for each thread, in addition: a look at one takes some 0.3 us
)

// keep is called before another wait. It has a thread that stands with a signal keep its wait status, and consumes
// any other.
func (r *Reports) keep() {
	if g := r.r.threads[r.unread]; g != nil {
		if t := g.Threads[r.unread]; t.M.state == StateStopped && t.M.signal != 0 {
			r.kept[t.TID] = struct{}{}
			r.unread = 0
		}
	}
	r.Read()
}

// rest is wait for a control goroutine that has nothing else to do. If a thread runs, whose stops have to be answered at
// once, the wait statuses that were kept are consumed.
func (r *Reports) rest() (ptrace.Stop, error) {
	if len(r.kept) > 0 && !r.r.allHeld() {
		for tid := range r.kept {
			r.read(tid)
		}
		clear(r.kept)
	}
	switch {
	case len(r.stolen) > 0:
		return r.pollNow()
	case len(r.kept) == 0 || len(r.backs) > 0:
		return r.wait(true)
	}
	return r.waitBeside(true, longNap+napThread*time.Duration(len(r.r.threads)))
}

// allHeld reports whether every thread that is traced has to stay stopped.
func (r *Tracer) allHeld() bool {
	for tid, g := range r.threads {
		if t := g.Threads[tid]; t.M.holds == 0 {
			return false
		}
	}
	return len(r.late) == 0
}

// waitBeside is wait for threads other than those that keep their wait statuses.
func (r *Reports) waitBeside(block bool, nap time.Duration) (ptrace.Stop, error) {
	for {
		if s, err := r.sweep(); err != nil || s.Kind != ptrace.KindNone {
			return s, err
		}
		if len(r.kept) == 0 {
			return r.wait(block)
		}
		if !block {
			return ptrace.Stop{}, nil
		}
		if err := ptrace.Nap(nap); err != nil {
			return ptrace.Stop{}, err
		}
	}
}

// sweep looks for a wait status of a thread by number. A thread that has left the stop that it keeps the wait status of
// has been killed. It reports its end when it is waited for like any other: the end of a leader comes last.
func (r *Reports) sweep() (ptrace.Stop, error) {
	for tid := range r.kept {
		if s, err := ptrace.PeekTID(tid, false); err != nil || s.Kind != ptrace.KindSignal {
			delete(r.kept, tid)
		}
	}
	for tid := range r.r.threads {
		if _, ok := r.kept[tid]; ok {
			continue
		}
		// ECHILD: an exec has ended it, which another thread reports.
		if s, err := ptrace.PeekTID(tid, false); err == nil && s.Kind != ptrace.KindNone {
			return r.accept(s, nil)
		}
	}
	return ptrace.Stop{}, nil
}

// stands reports whether a thread is in a signal-delivery stop whose wait status was only looked at. The reaper asks while the
// control goroutine sleeps in PTRACE_SEIZE.
func (r *Reports) stands(tid int) bool {
	if _, ok := r.kept[tid]; !ok && tid != r.unread {
		return false
	}
	s, err := ptrace.PeekTID(tid, false)
	return err == nil && s.Kind == ptrace.KindSignal
}
