package sample

import (
	"encoding/binary"
	"slices"
	"time"

	"ptools/internal/futex"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
)

// Who holds the locks that threads wait for is found out in the rounds, which see the waiting threads anyway. A thread that
// sleeps in futex(2) shows the address of a word; the memory around it has the number of the thread that holds the lock
// (internal/futex). The time since the round before, which counts as waiting time of the thread that waits, is blamed on the
// stack that the holder has at that moment (holder.go): of one that sleeps the stack is known, one that runs is
// looked at. Then the word is read again. A lock that has another owner by then is not blamed.
//
// Where the holder waits for a lock itself its holder is blamed, and so on.
//
// What has no owner by its nature, as a condition variable, is counted as such. Nothing is read of it.

// Blame has a sampler find out who holds the locks that threads wait for.
type Blame struct {
	// Peek looks at a thread that runs on a processor. Nil: without timers threads are stopped anyway; with them
	// nothing is known of a holder that runs.
	Peek func(cpu, tid int, word uint64) *perfevent.Peeked
}

// blame is what is known of the threads of a process that wait for others.
type blame struct {
	p       *process
	waiters map[*thread]*waiter
	late    []*waiter            // that wait no more, and have no name yet
	groups  map[contested]*group // of this round
	order   []*group
	inside  map[int]int // threads by their own numbers, in another PID namespace
	foreign bool        // it is in one
	asked   bool        // foreign is known
	gen     uint64      // of the roster, when inside was made
	buf     [futex.Before + futex.After]byte
}

// waiter is a thread that waits in futex(2).
type waiter struct {
	t        *thread
	stack    profile.StackID // in which it waits
	call     futex.Call
	named    bool       // the next two are known
	kind     futex.Kind // what the function that waits is for
	function string
	group    *group        // of this round
	since    time.Duration // what was before is counted
	rest     time.Duration // what was not, when it is over
	waits    int64         // 1 until it is counted
	wants    place
	last     charge // who was to blame in the round before
	wait     profile.WaitID
	owed     []waited // what is to be counted when it is named
	on       profile.StackID
}

// contested is a word that threads wait at with functions of a kind.
type contested struct {
	addr uint64
	kind futex.Kind
	old  uint32 // value that they expect
}

// group is the threads that wait for the same.
type group struct {
	contested
	lock    futex.Lock
	waiters []*waiter
	seen    bool   // the owner was stopped while it held the lock
	answer  charge // who is to blame
}

// charge is who is to blame for a wait.
type charge struct {
	p     *process // whose stack it is; nil: nobody's
	stack profile.StackID
	t     *thread // the holder
	holds place
	why   string // why nobody is
}

// waited is a time that is to be counted.
type waited struct {
	charge
	wants place
	time  time.Duration
}

// place is a lock.
type place struct {
	addr uint64
	kind futex.Kind
}

// Why nobody is blamed, beside futex.Lock.Why.
const (
	changedHands = profile.ChangedHands
	free         = "nobody held it"
	notSeen      = "holder running, not seen"
	elsewhere    = "holder in another process"
	ownerEnded   = "owner has ended"
	deadlocked   = "deadlock"
	notShown     = "its system call may not be read"
	notNamed     = "function that waits not known in time"
)

func newBlame(p *process) *blame {
	if p.sampler.opt.Blame == nil {
		return nil
	}
	return &blame{p: p, waiters: make(map[*thread]*waiter), groups: make(map[contested]*group)}
}

// begin finds out which threads wait, and reads who has what they wait for. Threads that run have not been stopped yet.
func (b *blame) begin() {
	if b == nil || b.p.image.Is32Bit() {
		return
	}
	for _, t := range b.p.activity.examined {
		b.examine(t)
	}
	b.nameLate()
	clear(b.groups)
	b.order = b.order[:0]
	for _, w := range b.waiters {
		w.group = nil
		b.name(w)
		b.gather(w)
	}
	if b.p.sampler.opt.Ticks == nil {
		for _, g := range b.order {
			b.learn(g) // who runs is stopped next, and seen with it
		}
	}
}

// learn reads who has a lock.
func (b *blame) learn(g *group) {
	c := g.waiters[0].call
	g.lock = c.Lock(g.kind, b.read(c.Addr), b.alive)
}

// examine takes note of whether a thread waits, after a round has examined it.
func (b *blame) examine(t *thread) {
	since := b.p.account.last
	switch known := b.waiters[t] != nil; {
	case known && t.turn.verdict == keep:
		return
	case known:
		b.left(t)
	case t.turn.verdict == keep:
		since = t.view.since
	}
	if !t.view.present || t.blocked.know == moving || t.turn.verdict == running {
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

// gather puts a waiter into a group of those that wait for the same, if that may have an owner.
func (b *blame) gather(w *waiter) {
	if !w.owned() {
		return
	}
	k := contested{w.call.Addr, w.kind, w.call.Value}
	g := b.groups[k]
	if g == nil {
		g = &group{contested: k}
		b.groups[k] = g
		b.order = append(b.order, g)
	}
	g.waiters = append(g.waiters, w)
	w.group = g
}

// read reads the memory around a futex, of one at the edge of its page as far as that goes.
func (b *blame) read(addr uint64) futex.Memory {
	const page = 4096
	from, to := addr-futex.Before, addr+futex.After
	if n := b.p.image.ReadStack(b.buf[:], from); n == len(b.buf) {
		return futex.Memory{At: from, Bytes: b.buf[:]}
	}
	from, to = max(from, addr&^(page-1)), min(to, (addr|(page-1))+1)
	n := b.p.image.ReadStack(b.buf[:to-from], from)
	return futex.Memory{At: from, Bytes: b.buf[:n]}
}

// word reads a word again.
func (b *blame) word(addr uint64) (uint32, bool) {
	var word [4]byte
	n := b.p.image.ReadStack(word[:], addr)
	return binary.LittleEndian.Uint32(word[:]), n == len(word)
}

// stillHolds reports whether a lock has the owner that it had.
func (b *blame) stillHolds(g *group) bool {
	word, ok := b.word(g.lock.OwnerAt)
	return ok && futex.Holds(word, g.lock.Owner)
}

// visited is called while a thread stands that was stopped for a sample: now is the time to see what it holds.
func (b *blame) visited(t *thread) {
	if b == nil {
		return
	}
	for _, g := range b.order {
		if g.lock.OwnerAt != 0 && b.outside(g.lock.Owner) == t.tid {
			g.seen = b.stillHolds(g)
		}
	}
}

// finish counts the time since the round before.
func (b *blame) finish(now time.Duration) {
	if b == nil {
		return
	}
	for _, g := range b.order {
		was := g.lock.Owner
		if !g.seen {
			b.learn(g)
		}
		if g.answer = b.accused(g); g.answer.why == notSeen && was != 0 && was != g.lock.Owner {
			g.answer.why = changedHands
		}
	}
	for _, g := range b.order {
		for _, w := range g.waiters {
			if b.waiters[w.t] != w || !w.named && g.lock.Kind == futex.Unknown {
				continue // it has ended; it is counted when the name is known
			}
			c, wants := b.follow(g, w), place{g.lock.Addr, g.lock.Kind}
			if w.owe(c, wants, now-w.since); w.named {
				b.pay(w)
			}
			w.since = now
		}
	}
}

// follow returns who is to blame where the holder may wait itself.
func (b *blame) follow(g *group, w *waiter) charge {
	for range b.order {
		c := g.answer
		if c.t == nil || c.p != b.p {
			return c
		}
		if c.t == w.t && c.stack != w.stack {
			return charge{why: changedHands} // it has got it
		}
		next := b.waiters[c.t]
		if next == nil || next.group == nil || next.stack != c.stack || next.group.lock.Owner == 0 {
			return c
		}
		if next.group.answer.why != "" {
			return c // who holds that is not known: the one that waits for it is
		}
		g = next.group
	}
	c := w.group.answer
	c.why = deadlocked
	return c
}

// note is the level that stands for why nobody is blamed.
func (b *blame) note(why string) profile.Addr {
	switch why {
	case changedHands, deadlocked, free:
		return b.p.sampler.profile.Note("[" + why + "]")
	}
	return b.p.sampler.profile.Note("[owner unknown (" + why + ")]")
}

// owe adds a time that is to be counted.
func (w *waiter) owe(c charge, wants place, d time.Duration) {
	if n := len(w.owed); n > 0 && w.owed[n-1].charge == c && w.owed[n-1].wants == wants {
		w.owed[n-1].time += d
		return
	}
	w.owed = append(w.owed, waited{c, wants, d})
}

// pay counts what is owed.
func (b *blame) pay(w *waiter) {
	for _, o := range w.owed {
		b.charge(w, o.charge, o.wants, o.time)
	}
	w.owed = w.owed[:0]
}

// charge counts a time that a thread has waited.
func (b *blame) charge(w *waiter, c charge, wants place, waited time.Duration) {
	p := b.p
	if w.wait == 0 || c != w.last || wants != w.wants {
		w.last, w.wants = c, wants
		w.wait, w.on = b.intern(w, c)
	}
	on := p
	if c.p != nil {
		on = c.p
	}
	v := profile.Values{Samples: w.waits, Wall: int64(waited)}
	w.waits = 0
	on.space.Blame(w.t.id, w.on, w.wait, v)
	p.space.Waited(w.t.id, w.stack, w.wait, v)
}

// intern returns what a wait counts as, and in which stack of the one who is to blame.
func (b *blame) intern(w *waiter, c charge) (profile.WaitID, profile.StackID) {
	prof, space := b.p.sampler.profile, b.p.space
	lock := func(l place) profile.LockID {
		return space.Lock(profile.Lock{Kind: l.kind.String(), Owned: l.kind.IsLock() || l.kind == futex.Unknown, Addr: l.addr})
	}
	wait := profile.Wait{Lock: lock(w.wants), Function: w.function, Why: c.why}
	if c.t != nil {
		wait.Holder, wait.TID, wait.Holds = prof.ThreadName(c.t.id), c.t.tid, lock(c.holds)
	}
	switch {
	case c.p == nil:
		return prof.Wait(wait), space.Rooted(w.stack, b.note(c.why))
	case c.why != "":
		return prof.Wait(wait), c.p.space.Rooted(c.stack, b.note(c.why))
	}
	return prof.Wait(wait), c.stack
}

// settle finds out who holds what those wait for whose functions were not named while they were sampled, now that all names are known:
// they wait still, and who has the lock can be read.
func (b *blame) settle() {
	if b == nil || b.p.image == nil || b.p.image.Is32Bit() {
		return
	}
	b.p.namer.stop()
	b.p.space.ResolveAll()
	clear(b.groups)
	b.order = b.order[:0]
	for _, w := range b.waiters {
		w.group = nil
		b.name(w)
		b.gather(w)
	}
	b.finish(b.p.account.last)
}

// close names the locks of an image that is about to go.
func (b *blame) close() {
	if b == nil || b.p.image == nil || b.p.space == nil {
		return
	}
	for t := range b.waiters {
		b.left(t)
	}
	b.nameLate()
	for _, w := range b.late {
		b.conclude(w)
	}
	b.late = nil
	if i, ok := b.p.image.(interface {
		Place(addr uint64) (symbol string, offset uint64, object string)
	}); ok {
		b.p.space.PlaceLocks(i.Place)
	}
}

// alive reports whether a number is that of a thread.
func (b *blame) alive(tid int) bool {
	t, _ := b.owner(tid)
	return t != nil || b.processOf(tid) != 0
}

// owner returns the thread that the process knows by a number, and its process.
func (b *blame) owner(tid int) (*thread, *process) {
	out := b.outside(tid)
	if t := b.p.roster.byTID[out]; t != nil {
		return t, b.p
	}
	if b.foreign {
		return nil, nil
	}
	for _, p := range b.p.sampler.processes {
		if t := p.roster.byTID[out]; t != nil && p.image != nil {
			return t, p
		}
	}
	return nil, nil
}

// processOf returns the process of a thread that is not known, 0 if there is none.
func (b *blame) processOf(tid int) int {
	out := b.outside(tid)
	if out <= 0 {
		return 0
	}
	st, err := procfs.ReadTaskStatus(out, out)
	if err != nil || st.State == 'Z' || st.State == 'X' {
		return 0
	}
	return st.Tgid
}

// outside returns our number of a thread that the process knows by tid. One in another PID namespace knows its own threads by
// other numbers than we.
func (b *blame) outside(tid int) int {
	if !b.asked {
		b.asked = true
		st, err := procfs.ReadTaskStatus(b.p.PID, b.p.PID)
		b.foreign = err == nil && len(st.NSpid) > 1
	}
	if !b.foreign {
		return tid
	}
	if out, ok := b.inside[tid]; ok || b.inside != nil && b.gen == b.p.roster.made {
		return out
	}
	b.inside, b.gen = make(map[int]int), b.p.roster.made
	for _, t := range b.p.roster.threads {
		if st, err := procfs.ReadTaskStatus(b.p.PID, t.tid); err == nil && len(st.NSpid) > 0 {
			b.inside[st.NSpid[len(st.NSpid)-1]] = t.tid
		}
	}
	return b.inside[tid]
}
