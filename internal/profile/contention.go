package profile

import (
	"cmp"
	"fmt"
	"path"
)

// Waits are counted beside the samples, twice: in the stack of the thread that held the lock, and in the stack of the
// thread that waited. [Profile.Contention] makes profiles of them, with the same stacks and names.

// waiting has the locks and the waits of a profile.
type waiting struct {
	locks   []Lock
	lockIDs map[lockKey]LockID
	waits   []Wait // by WaitID less one
	waitIDs map[Wait]WaitID
}

type lockKey struct {
	space *Space
	addr  uint64
	kind  string
}

// LockID names a lock within its profile, counted from 1.
type LockID uint32

// Lock is a lock, or something else that threads wait for.
type Lock struct {
	Kind  string // "mutex", "condition variable"
	Owned bool   // threads hold it, and others wait for that
	PID   int    // of the first process that was seen to wait for it
	Addr  uint64
	// Symbol is the variable that it lies in, and Object the file. Both are empty on a heap or a stack.
	Symbol string
	Offset uint64 // of Addr in Symbol, or in Object as its file counts addresses
	Object string
}

// String returns a name of the lock for users.
func (l *Lock) String() string {
	object := path.Base(l.Object)
	switch {
	case l.Kind == "":
		return ""
	case l.Symbol != "" && l.Offset != 0:
		return fmt.Sprintf("%s %s+%d in %s", l.Kind, l.Symbol, l.Offset, object)
	case l.Symbol != "":
		return fmt.Sprintf("%s %s in %s", l.Kind, l.Symbol, object)
	case l.Object != "":
		return fmt.Sprintf("%s %#x in %s", l.Kind, l.Addr, object)
	case l.Addr == 0:
		return l.Kind
	}
	return fmt.Sprintf("%s %#x", l.Kind, l.Addr)
}

// otherLock names the lock that the blamed thread holds, if it is not the one that was waited for.
func otherLock(holds, lock *Lock) string {
	if holds.Kind == "" || *holds == *lock {
		return ""
	}
	return holds.String()
}

// WaitID names a wait within its profile, counted from 1.
type WaitID uint32

// Wait says what was waited for, and which thread is blamed. It is the same for all waits that are counted together.
type Wait struct {
	Lock     LockID // the lock that was waited for
	Holds    LockID // the lock that the blamed thread held: another one if the holder of Lock waited itself; 0 if no thread is blamed
	Function string // the function that waited
	Holder   string // name of the blamed thread, empty if it is not known
	TID      int    // its number
	Why      string // why no thread is blamed, "" if one is
}

// maxLocks bounds the locks that are distinguished. Further ones have no address.
const maxLocks = 1 << 16

// Lock adds a lock, or returns the one that was added before with the same space, address and kind.
func (s *Space) Lock(l Lock) LockID {
	w := s.profile.waits()
	if len(w.locks) >= maxLocks {
		l.Addr = 0
	}
	k := lockKey{s, l.Addr, l.Kind}
	id, ok := w.lockIDs[k]
	if !ok {
		l.PID = s.pid
		w.locks = append(w.locks, l)
		id = LockID(len(w.locks))
		w.lockIDs[k] = id
	}
	return id
}

// PlaceLocks asks place about the locks of the space that it has not asked about yet.
func (s *Space) PlaceLocks(place func(addr uint64) (symbol string, offset uint64, object string)) {
	w := s.profile.waiting
	if w == nil {
		return
	}
	for k, id := range w.lockIDs {
		l := &w.locks[id-1]
		if k.space != s || k.addr == 0 || l.Object != "" {
			continue
		}
		symbol, offset, object := place(k.addr)
		l.Symbol, l.Offset, l.Object = Clean(symbol), offset, Clean(object)
	}
}

func (p *Profile) waits() *waiting {
	if p.waiting == nil {
		p.waiting = &waiting{lockIDs: make(map[lockKey]LockID), waitIDs: make(map[Wait]WaitID)}
	}
	return p.waiting
}

// Wait adds a wait, or returns the number of an equal one.
func (p *Profile) Wait(w Wait) WaitID {
	w.Function, w.Holder = Clean(w.Function), Clean(w.Holder)
	all := p.waits()
	id, ok := all.waitIDs[w]
	if !ok {
		all.waits = append(all.waits, w)
		id = WaitID(len(all.waits))
		all.waitIDs[w] = id
	}
	return id
}

// wait returns a wait with its locks; zero values for 0.
func (p *Profile) wait(id WaitID) (w Wait, lock, holds Lock) {
	if id == 0 {
		return w, lock, holds
	}
	w = p.waiting.waits[id-1]
	if w.Lock != 0 {
		lock = p.waiting.locks[w.Lock-1]
	}
	if w.Holds != 0 {
		holds = p.waiting.locks[w.Holds-1]
	}
	return w, lock, holds
}

func (p *Profile) compareWaits(a, b WaitID) int {
	if a == b {
		return 0
	}
	x, xLock, xHolds := p.wait(a)
	y, yLock, yHolds := p.wait(b)
	return cmp.Or(compareLocks(&xLock, &yLock), compareLocks(&xHolds, &yHolds), cmp.Compare(x.Function, y.Function),
		cmp.Compare(x.TID, y.TID), cmp.Compare(x.Holder, y.Holder), cmp.Compare(x.Why, y.Why))
}

func compareLocks(a, b *Lock) int {
	return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Kind, b.Kind))
}

// blame has the waiting time counted in a space.
type blame struct{ holders, waiters counters }

// counters are cells beside those of the samples.
type counters struct {
	cells []cell
	ids   map[cellKey]Cell
}

func (c *counters) add(k cellKey, v Values) {
	i, ok := c.ids[k]
	if !ok {
		if c.ids == nil {
			c.ids = make(map[cellKey]Cell)
		}
		i = Cell(len(c.cells))
		c.cells = append(c.cells, cell{cellKey: k})
		c.ids[k] = i
	}
	c.cells[i].add(v)
}

// Blame counts that a thread has waited for a thread with this stack of the space.
func (s *Space) Blame(waiter ThreadID, stack StackID, w WaitID, v Values) {
	s.blame.holders.add(cellKey{waiter, stack, w}, v)
}

// Waited counts the same wait in the stack of the thread that waited.
func (s *Space) Waited(waiter ThreadID, stack StackID, w WaitID, v Values) {
	s.blame.waiters.add(cellKey{waiter, stack, w}, v)
}

// Rooted returns a stack with one more level, outside of the outermost.
func (s *Space) Rooted(stack StackID, root Addr) StackID {
	return s.Stack(append(s.Levels(stack, nil), root))
}

// moveBlame moves the waiting time to another space, in which stacks have other numbers.
func (s *Space) moveBlame(to *Space, stacks []StackID) {
	for _, sets := range [...][2]*counters{{&s.blame.holders, &to.blame.holders}, {&s.blame.waiters, &to.blame.waiters}} {
		for _, c := range sets[0].cells {
			sets[1].add(cellKey{c.thread, stacks[c.stack], c.wait}, c.Values)
		}
	}
}

// Contention returns a profile of the waiting for locks, by the stacks of the threads that held them; nil if that was
// not asked for. Waits for things that no thread holds, such as condition variables, are in its text and JSON only:
// idle threads wait for those, and would hide the others. The result shares its parts with p, to which nothing may be
// added any more.
func (p *Profile) Contention() *Profile {
	if p.waiting == nil {
		return nil
	}
	holders := func(b *blame) *counters { return &b.holders }
	q := p.contention(holders, true)
	q.unowned = p.contention(holders, false)
	q.waiters = p.contention(func(b *blame) *counters { return &b.waiters }, true)
	return q
}

// contention returns the waits for things that have owners, or those for things that have none.
func (p *Profile) contention(of func(*blame) *counters, owned bool) *Profile {
	spaces := p.finish() // this comes first: it makes the table of functions
	q := *p
	q.Subject, q.spaces, q.archives, q.marks = Contention, nil, nil, nil
	for _, s := range spaces {
		view := *s
		view.profile, view.cells, view.cellIDs, view.spans = &q, nil, nil, nil
		for _, c := range of(&s.blame).cells {
			if _, lock, _ := p.wait(c.wait); lock.Owned == owned {
				view.cells = append(view.cells, c)
			}
		}
		q.spaces = append(q.spaces, &view)
	}
	return &q
}

// KnowWaits makes Contention return a profile even if there were no waits.
func (p *Profile) KnowWaits() { p.waits() }

// Level returns the function of the innermost level of a stack, without functions inlined there, the file that has
// its code, and the stack that has called it. known is false as long as the level has not been resolved.
func (s *Space) Level(stack StackID) (name, object string, known bool, caller StackID) {
	n := s.nodes[stack]
	if int(n.loc) >= s.pending {
		return "", "", false, n.caller
	}
	l := &s.locs[n.loc]
	if len(l.lines) == 0 {
		if l.mapping >= 0 {
			object = s.mappings[l.mapping].Path
		}
		return "", object, true, n.caller
	}
	f := s.profile.functions[l.lines[len(l.lines)-1].fn]
	return f.name, f.object, true, n.caller
}
