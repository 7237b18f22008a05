package tracee

import (
	"strings"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Stopper stops one thread or all of them, waits for that, and keeps them stopped.
type Stopper struct {
	g      *Group
	holds  int       // reasons for all threads to stay stopped
	killed bool      // a signal had killed the thread that was looked at last
	asked  time.Time // when that was
}

// Holds returns how many reasons there are for all threads to stay stopped.
func (s *Stopper) Holds() int { return s.holds }

// Hold makes one thread stop, and stay stopped. It does not wait for the stop.
func (s *Stopper) Hold(t *Thread) {
	a := t.M.hold()
	s.g.Trace.Did(t, DeedHold, 0, nil)
	s.Interrupt(t, a)
}

// Interrupt does what a Machine asks for. A thread that a signal has killed is left alone: it does not stop any more,
// and an interrupt would cut off a core dump that it writes to a pipe.
func (s *Stopper) Interrupt(t *Thread, a Action) {
	switch {
	case a != ActInterrupt:
	case s.isKilled(t):
		s.g.Trace.Did(t, DeedSpare, 0, nil)
	default:
		err := ptrace.Interrupt(t.TID) // ESRCH: it is ending; its end will be reported
		s.g.Trace.Did(t, DeedInterrupt, 0, err)
	}
}

// livesFor is how long a process counts as not killed once a thread of it was found so: many threads are interrupted at a time.
const livesFor = time.Millisecond

// isKilled reports whether a signal has killed a thread. Threads that another thread's execve(2) ends are killed too, so of a
// process that is being killed each thread is looked at.
func (s *Stopper) isKilled(t *Thread) bool {
	if now := time.Now(); s.killed || now.Sub(s.asked) > livesFor {
		st, err := procfs.ReadTaskStat(s.g.PIDOf(t), t.TID)
		s.killed, s.asked = err == nil && st.Killed(), now
	}
	return s.killed
}

// Arrived records that a thread which was waited for has stopped, or never will.
func (s *Stopper) Arrived(t *Thread) {
	if t.M.stand() {
		s.g.Trace.Did(t, DeedStand, 0, nil)
	}
}

// waitsInVfork records that a thread waits for its child in vfork(2), or is about to.
func (s *Stopper) waitsInVfork(t *Thread) {
	t.M.vfork()
	s.g.Trace.Did(t, DeedVfork, 0, nil)
}

// StopAll stops every thread that can be stopped. When all are stopped, the breakpoints
// are taken out of the text. Calls nest; ResumeAll undoes one.
func (s *Stopper) StopAll() {
	s.holds++
	if s.holds == 1 && len(s.g.Threads) >= manyThreads {
		s.stopSleepers()
	}
	s.stopRest()
}

// StopAtOnce is StopAll for a stop so short that asking which threads sleep would take longer.
func (s *Stopper) StopAtOnce() {
	s.holds++
	s.stopRest()
}

// StopBut stops all threads but those that are spared. It counts as one StopAll. The traps stay in the text.
func (s *Stopper) StopBut(spared func(*Thread) bool) {
	s.holds++
	s.holdThose(func(t *Thread) bool { return t.Role != RoleCopy && !spared(t) })
}

// holdThose holds some of the threads that are not held yet, and waits until they are stopped.
func (s *Stopper) holdThose(which func(*Thread) bool) {
	for _, t := range s.g.Threads {
		if t.M.holds == 0 && which(t) {
			s.Hold(t)
		}
	}
	s.Await(StuckFor)
}

func (s *Stopper) stopRest() {
	s.holdThose(func(t *Thread) bool { return t.Role != RoleCopy })
	s.g.Seizer.seizeNewborn()
	// A forked process has a copy of our traps. It must be cleaned while the table still knows them.
	if s.g.Waiter.Until(func() bool { return !s.g.Leaver.Copies() }, nil) {
		s.g.up.AllStopped()
		s.steady()
	}
}

// steady writes the registers of all stopped threads back to the kernel. If we are killed,
// they run on with those: a thread that has hit a trap then executes the original
// instruction. The SIGTRAP itself is not delivered any more once its wait status was read.
func (s *Stopper) steady() {
	for _, t := range s.g.Threads {
		if t.M.state == StateStopped {
			s.g.FlushRegs(t)
		}
	}
}

// manyThreads is the number of threads from which on it is worth asking which of them sleep.
const manyThreads = 16

// stopSleepers stops the threads that sleep, and returns when they are stopped. Each of them
// has to be woken for that, and running threads need not be kept stopped as long. A thread
// that falls asleep or wakes up meanwhile is stopped a little longer, or shorter. The other
// threads run on, over breakpoints too, whose handlers may stop all threads themselves.
func (s *Stopper) stopSleepers() {
	s.holdThose(func(t *Thread) bool {
		if t.Role != RoleThread || t.M.state != StateRunning {
			return false
		}
		st, err := procfs.ReadTaskStat(s.g.PID, t.TID)
		if !strings.Contains(st.Comm, `\`) { // with one, something may be escaped
			t.Name = st.Comm
		}
		return err == nil && st.State != 'R'
	})
}

// Await handles wait statuses until no thread is waited for. Threads that have been found
// stuck patience times in a row are parked.
func (s *Stopper) Await(patience int) {
	for before := s.awaited(); before > 0 && !s.g.phase.Over(); before = s.awaited() {
		pending := make([]*Thread, 0, before)
		for _, t := range s.g.Threads {
			if t.M.awaits == AwaitStop {
				pending = append(pending, t)
			}
		}
		s.g.Waiter.collect(pending, func(t *Thread) bool { return t.M.awaits == AwaitStop }, func() {
			// As long as some threads stop, the others only wait for a processor.
			now := s.awaited()
			if now == before {
				s.parkStuck(patience)
				now = s.awaited()
			}
			before = now
		})
	}
}

// awaited returns how many threads are waited for.
func (s *Stopper) awaited() (n int) {
	for _, t := range s.g.Threads {
		if t.M.awaits == AwaitStop {
			n++
		}
	}
	return n
}

// ResumeAll undoes one StopAll. A rendezvous that was requested while threads were being
// stopped begins now.
func (s *Stopper) ResumeAll() {
	s.g.news.ResumesAll()
	if s.g.phase.Over() {
		return
	}
	s.holds--
	if s.holds > 0 {
		return
	}
	s.g.up.AllRun()
	all := s.g.RunnersFirst()
	for _, t := range all {
		s.Arrived(t)
		if t.M.holds > 0 {
			s.g.Change(t, DeedUnhold, t.M.Unhold())
		}
	}
	// Stepping one of them off its breakpoint may stop all threads once more.
	for _, t := range all {
		s.g.Settle(t)
	}
}
