package sample

import (
	"slices"
	"time"

	"ptools/internal/futex"
	"ptools/internal/procfs"
	"ptools/internal/profile"
)

// waiter is a thread that waits in futex(2).
type waiter struct {
	t        *thread
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
	last     charge // which thread was to blame in the round before
	wait     profile.WaitID
	owed     []waited // times that are counted when the kind is known
	on       profile.StackID
}

// examine records whether a thread waits, after a round has examined it, and finds out for which thread.
func (b *blame) examine(t *thread) {
	if b == nil || b.p.image.Is32Bit() || b.p.roster.byTID[t.tid] != t {
		return
	}
	if b.take(t); b.waiters[t] != nil {
		b.ask(b.waiters[t])
	}
}

// take records whether a thread waits.
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
	case procfs.SyscallName(t.blocked.call.Nr) == futex.Name:
		var waits bool
		if w.call, waits = futex.Parse(t.blocked.call.Args); !waits {
			return
		}
	default:
		return
	}
	b.waiters[t] = w
}

// left counts the wait of a thread that no longer waits, or waits elsewhere.
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

// maxLate bounds how many waits are kept until it is known what they were for. Names are known after a second at most,
// but reading debug information may take longer.
const maxLate = 1 << 14

// nameLate counts the ended waits for which it is known by now what they were for.
func (b *blame) nameLate() {
	b.late = slices.DeleteFunc(b.late, func(w *waiter) bool {
		if b.name(w); w.named {
			b.conclude(w)
		}
		return w.named
	})
}

// conclude counts the rest of a wait that is over. If there is no owner, that is all of it. If there may be one, it is
// what the rounds have not counted.
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
