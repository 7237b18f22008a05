package sample

import (
	"strings"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// wariness says how long a thread is not stopped because of the calls that it makes.
//
// A stop makes some system calls return less than they were asked for (ptrace.ShortAtStop). A thread that is blocked
// in such a call is never stopped. Whether a running thread is in one is not visible: its file shows a call only
// while it sleeps there. But threads that transfer much data make such calls again and again, and are met asleep in
// between. So a thread that was lately met in such a call is not stopped while it runs: it shows as [not stopped].
// If a stop itself has come at the end of such a call, the thread is left alone for longer each time: it seldom
// sleeps in the call, and would not be met there.
type wariness struct {
	until time.Duration
	next  time.Duration // how long the thread is left alone after the next stop in such a call
}

const (
	waryFor  = 10 * time.Second // after the thread was met asleep in such a call, or stopped in one
	waryMost = 10 * time.Minute // after many stops in one
)

// slept records that the thread was met asleep in a call that a stop makes return early.
func (w *wariness) slept(now time.Duration) { w.until = max(w.until, now+waryFor) }

// stopped records that a stop has come at the end of such a call.
func (w *wariness) stopped(now time.Duration) {
	w.next = min(max(2*w.next, waryFor), waryMost)
	w.until = max(w.until, now+w.next)
}

// waryOf reports whether a running thread must not be stopped. A 32-bit
// program is never stopped: it is not known here which of its calls a stop
// harms. Nor is a worker of the kernel.
func (l *looking) waryOf(t *thread) bool {
	return t.works || l.p.image.Is32Bit() || l.p.sampler.clock.Now() < t.wary.until
}

// spoils reports whether a stop harms a call: the call returns EINTR, its timeout begins again, or it returns
// less than it was asked for.
func (l *looking) spoils(call *procfs.Syscall) bool {
	_, spoils := givesEINTR[procfs.SyscallName(call.Nr)]
	return spoils || l.shortens(call.Nr, call.Args)
}

// shortens reports whether a stop makes a call return less than it was asked for. A call that never waits looks for no
// signal: how much it moves does not depend on stops.
func (l *looking) shortens(nr int64, args [6]uint64) bool {
	switch ptrace.ShortAtStop(nr, args) {
	case ptrace.PerhapsShort:
		return !ptrace.OnDescriptor(nr) || l.p.NeverWaits == nil || !l.p.NeverWaits(uint32(args[0]))
	case ptrace.ShortOfTerminal:
		return l.mayBeTerminal(args[0])
	}
	return false
}

// mayBeTerminal reports whether a descriptor may be a terminal, or another device that hands out what it has so far.
func (l *looking) mayBeTerminal(fd uint64) bool {
	if l.p.File == nil {
		return true
	}
	name, err := l.p.File(uint32(fd))
	if err != nil {
		return true
	}
	// A terminal of another mount namespace is shown without the directory.
	return strings.HasPrefix(name, "/dev/") || strings.Trim(name, "/0123456789") == ""
}

// metIn records the call that a thread sleeps in. A stop does not interrupt a sleep for a disk (state D).
func (l *looking) metIn(t *thread, call *procfs.Syscall, state byte) {
	if state == 'S' && l.p.sampler.stops() && l.shortens(call.Nr, call.Args) {
		t.wary.slept(l.p.sampler.clock.Now())
	}
}

// stoppedIn records the call at whose end a stop has come.
func (l *looking) stoppedIn(t *thread, nr, result int64, args [6]uint64) {
	if result >= 0 && fellShort(nr, uint64(result), args) && l.shortens(nr, args) {
		l.cutShort(t)
	}
}

// cutShort records that a stop may have made a thread's call return less.
func (l *looking) cutShort(t *thread) { t.wary.stopped(l.p.sampler.clock.Now()) }

// fellShort reports whether a call may have returned less than it was asked for.
func fellShort(nr int64, result uint64, args [6]uint64) bool {
	switch procfs.SyscallName(nr) {
	case "read", "write", "pread64", "pwrite64", "sendto", "recvfrom", "recvmmsg", "sendmmsg":
		return result < args[2]
	case "io_getevents", "getrandom", "io_pgetevents":
		return result < args[1]
	case "sendfile":
		return result < args[3]
	}
	return true
}

// leaveRunning takes the sample of a running thread that is not stopped because of the calls that it makes.
func (l *looking) leaveRunning(t *thread) {
	if !l.p.image.Is32Bit() {
		l.p.sampler.cost.Spared++
	}
	ran := t.blocked.state == 0
	l.p.outside.notSeen(t)
	if ran && t.blocked.state == 0 && t.blocked.know == moving {
		t.turn.sighting, t.turn.burst = metRunning, 0 // its processor time is shown there
	}
}
