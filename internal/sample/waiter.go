package sample

import (
	"slices"
	"time"

	"ptools/internal/futex"
	"ptools/internal/profile"
)

// waiter is a thread that waits in futex(2).
type waiter struct {
	t        *thread
	stack    profile.StackID // in which it waits
	call     futex.Call
	named    bool       // the next two are known
	kind     futex.Kind // what the function that waits is for
	function string
	group    *group // of this round
	answer   charge // which thread has what it waits for, in this round
	answered bool
	since    time.Duration // what was before is counted
	rest     time.Duration // what was not, when it is over
	waits    int64         // 1 until it is counted
	wants    place
	last     charge // which was to blame in the round before
	wait     profile.WaitID
	owed     []waited // what is to be counted when it is named
	on       profile.StackID
}

// examine takes note of whether a thread waits, after a round has examined it, and for which.
func (b *blame) examine(t *thread) {
	if b == nil || b.p.image.Is32Bit() || b.p.roster.byTID[t.tid] != t {
		return
	}
	if b.take(t); b.waiters[t] != nil {
		b.ask(b.waiters[t])
	}
}

// take takes note of whether a thread waits.
func (b *blame) take(t *thread) {
	since := b.p.account.last
	switch known := b.waiters[t] != nil; {
	case known && t.turn.verdict == keep:
		return
	case known:
		b.left(t)
	case t.turn.verdict == keep:
		since = t.view.since
	}
	if !t.view.present || t.blocked.know == moving || t.turn.verdict == running || t.turn.verdict == wanted {
		return
	}
	b.complete(b.p, t)
	w := &waiter{t: t, stack: t.view.stack, since: since, waits: 1}
	switch {
	case t.blocked.call == concealed:
		if !unharmed[t.blocked.where] || t.blocked.where[:min(5, len(t.blocked.where))] != "futex" {
			return
		}
		w.last = charge{why: notShown}
	case t.blocked.call.Nr == futex.Number:
		var waits bool
		if w.call, waits = futex.Parse(t.blocked.call.Args); !waits {
			return
		}
	default:
		return
	}
	b.waiters[t] = w
}

// left counts what a thread has waited that waits no more, or not there.
func (b *blame) left(t *thread) {
	if b == nil {
		return
	}
	w := b.waiters[t]
	if w == nil {
		return
	}
	delete(b.waiters, t)
	w.rest = b.p.account.last - w.since
	if b.name(w); w.named || w.last.why == notShown || len(b.late) >= maxLate {
		b.conclude(w)
		return
	}
	b.late = append(b.late, w)
}

// maxLate bounds how many waits are kept until it is known what they were for. Names are there after a second at most, but
// debug information may take longer to read.
const maxLate = 1 << 14

// nameLate counts the waits that are over and of which it is known by now what they were for.
func (b *blame) nameLate() {
	b.late = slices.DeleteFunc(b.late, func(w *waiter) bool {
		if b.name(w); w.named {
			b.conclude(w)
		}
		return w.named
	})
}

// conclude counts what is left of a wait that is over: all of it where there is no owner, what the rounds have not counted
// where there may be one.
func (b *blame) conclude(w *waiter) {
	c := w.last
	if w.owned() {
		c = charge{why: notNamed}
	}
	b.pay(w)
	if w.rest > 0 {
		b.charge(w, c, place{w.call.Addr, w.kind}, w.rest)
	}
}

// owned reports whether what is waited for may have an owner. The time of others is counted when they have waited.
func (w *waiter) owned() bool {
	if w.last.why == notShown {
		return false
	}
	return !w.named || w.call.Inherits() || w.kind == futex.Unknown || w.kind.IsOwned()
}

// deepest is how many levels are looked at for the function that waits, and for its caller outside of the C library.
const deepest = 12

// name finds out what the function that waits is for, if its name is known by now.
func (b *blame) name(w *waiter) {
	if w.named || w.last.why == notShown {
		return
	}
	kind, function := futex.Unknown, ""
	at := w.stack
	for i := 0; i < deepest && at != 0; i++ {
		name, object, known, caller := b.p.space.Level(at)
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
