package tracee

import (
	"strings"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Stopper makes threads stand, one or all of them, and waits for that.
type Stopper struct {
	g     *Group
	holds int // reasons for all threads to stand
}

// Holds returns how many reasons there are for all threads to stand.
func (s *Stopper) Holds() int { return s.holds }

// Hold makes one thread stop and stay.
func (s *Stopper) Hold(t *Thread) {
	a := t.M.hold()
	s.g.Trace.Did(t, DeedHold, 0, nil)
	s.Interrupt(t, a)
}

// Interrupt does what a Machine asks for.
func (s *Stopper) Interrupt(t *Thread, a Action) {
	if a == ActInterrupt {
		err := ptrace.Interrupt(t.TID) // ESRCH: it is going, its end will be reported
		s.g.Trace.Did(t, DeedInterrupt, 0, err)
	}
}

// Arrived notes that a thread which was waited for has stopped, or never will.
func (s *Stopper) Arrived(t *Thread) {
	if t.M.stand() {
		s.g.Trace.Did(t, DeedStand, 0, nil)
	}
}

// waitsInVfork notes that a thread waits for its child in vfork(2), or is about to.
func (s *Stopper) waitsInVfork(t *Thread) {
	t.M.vfork()
	s.g.Trace.Did(t, DeedVfork, 0, nil)
}

// StopAll stops every thread that can be stopped, and takes the breakpoints out of
// the text when all stand. Calls nest; ResumeAll undoes one.
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

// StopBut stops all threads but those that are spared. It counts as one StopAll, and the traps are left where they are.
func (s *Stopper) StopBut(spared func(*Thread) bool) {
	s.holds++
	s.holdThose(func(t *Thread) bool { return t.Role != RoleCopy && !spared(t) })
}

// holdThose holds some of the threads that are not held yet, and waits until they stand.
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
	// A forked process has our traps, and is cleaned of those that the table still knows.
	if s.g.Waiter.Until(func() bool { return !s.g.Leaver.Copies() }, nil) {
		s.g.up.AllStopped()
		s.steady()
	}
}

// steady makes the kernel's registers of all stopped threads what they are to run on
// with, as they would when we are killed: a thread that has hit a trap then makes its
// instruction. The SIGTRAP itself is not delivered any more once it was reported.
func (s *Stopper) steady() {
	for _, t := range s.g.Threads {
		if t.M.state == StateStopped {
			s.g.FlushRegs(t)
		}
	}
}

// manyThreads is from how many threads on it is worth asking which of them sleep.
const manyThreads = 16

// stopSleepers stops the threads that sleep, and returns when they stand: each has to
// be woken for that, which those that run need not wait for. A thread that falls asleep
// or wakes up meanwhile waits a little longer, or less. The others run on, over
// breakpoints too, whose handlers may want to stop all threads themselves.
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

// Await handles reports until no thread is waited for, or those that are left have
// been found stuck so often.
func (s *Stopper) Await(patience int) {
	for before := s.awaited(); before > 0 && !s.g.phase.Over(); before = s.awaited() {
		pending := make([]*Thread, 0, before)
		for _, t := range s.g.Threads {
			if t.M.awaits == AwaitStop {
				pending = append(pending, t)
			}
		}
		s.g.Waiter.collect(pending, func(t *Thread) bool { return t.M.awaits == AwaitStop }, func() {
			// As long as some stop, the others are only waiting for a processor.
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

// ResumeAll undoes one StopAll. A rendezvous that was asked for while threads were being
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
	// Stepping one of them off its breakpoint may stop all once more.
	for _, t := range all {
		s.g.Settle(t)
	}
}
