package locks

import (
	"slices"
	"time"

	"ptools/internal/futex"
	"ptools/internal/profile"
)

// waiter is a thread that waits in futex(2).
type waiter struct {
	t        Thread
	stack    profile.StackID // the stack in which it waits
	call     futex.Call
	named    bool       // the next two are known
	kind     futex.Kind // what the function that waits is for
	function string
	group    *group // of this round
	answer   charge // which thread holds what it waits for, in this round
	answered bool
	since    time.Duration // the time before that is counted
	rest     time.Duration // time that was not counted when the wait ended
	waits    int64         // 1 until the wait is counted
	wants    place
	last     charge // what the round before was charged to
	wait     profile.WaitID
	pending  []waited // times that are counted when the kind is known
	on       profile.StackID
}

// Sleep is how a thread sleeps in futex(2).
type Sleep struct {
	Stack profile.StackID
	Since time.Duration // the time of the first round that saw it so, or of the one before
	Args  *[6]uint64    // of the call; nil: they may not be read
}

// Still says that a thread has not moved since the round before. It reports whether it was known to sleep in futex(2).
func (l *Table) Still(t Thread) (known bool) {
	w := l.waiters[t]
	if w != nil {
		l.ask(w)
	}
	return w != nil
}

// Sleeps says that a thread sleeps in futex(2), which was not known, and finds out for which thread it waits.
func (l *Table) Sleeps(t Thread, s Sleep) {
	w := &waiter{t: t, stack: s.Stack, since: s.Since, waits: 1}
	if s.Args == nil {
		w.last = charge{why: notShown}
	} else {
		var waits bool
		if w.call, waits = futex.Parse(*s.Args); !waits {
			return
		}
	}
	l.waiters[t] = w
	l.ask(w)
}

// Left counts the wait of a thread that no longer waits, or waits elsewhere.
func (l *Table) Left(t Thread) {
	if l == nil {
		return
	}
	w := l.waiters[t]
	if w == nil {
		return
	}
	delete(l.waiters, t)
	w.rest = l.last - w.since
	if l.name(w); w.named || w.last.why == notShown || len(l.late) >= maxLate {
		l.conclude(w)
		return
	}
	l.late = append(l.late, w)
}

// maxLate bounds how many waits are kept until it is known what they were for. Names are known after a second at most,
// but reading debug information may take longer.
const maxLate = 1 << 14

// nameLate counts the ended waits for which it is known by now what they were for.
func (l *Table) nameLate() {
	l.late = slices.DeleteFunc(l.late, func(w *waiter) bool {
		if l.name(w); w.named {
			l.conclude(w)
		}
		return w.named
	})
}

// conclude counts the rest of a wait that is over. If there is no owner, that is all of it. If there may be one, it is
// what the rounds have not counted.
func (l *Table) conclude(w *waiter) {
	c := w.last
	if w.owned() {
		c = charge{why: notNamed}
	}
	l.flush(w)
	if w.rest > 0 {
		l.charge(w, c, place{w.call.Addr, w.kind}, w.rest)
	}
}

// owned reports whether the thing that is waited for may have an owner. Other waits are counted when they are over.
func (w *waiter) owned() bool {
	if w.last.why == notShown {
		return false
	}
	return !w.named || w.call.Inherits() || w.kind == futex.Unknown || w.kind.IsOwned()
}

// deepest is how many levels are searched for the function that waits, and for its caller outside of the C library.
const deepest = 12

// name finds out the purpose of the function that waits, if its name is known by now.
func (l *Table) name(w *waiter) {
	if w.named || w.last.why == notShown {
		return
	}
	kind, function := futex.Unknown, ""
	at := w.stack
	for i := 0; i < deepest && at != 0; i++ {
		name, object, known, caller := l.space.Level(at)
		if !known {
			return
		}
		at = caller
		k := futex.CallerKind(name)
		switch {
		case kind == futex.Unknown && k != futex.Unknown:
			kind, function = k, ""
		case i > 0 && function == "" && name != "" && !profile.IsLibrary(name, object):
			function = name
		}
		if kind != futex.Unknown && function != "" {
			break
		}
	}
	w.kind, w.function, w.named = kind, function, true
	if !w.owned() {
		w.last = charge{why: kind.String()}
		if kind == futex.Thread {
			w.last.why = "end of a thread"
		}
	}
}
