package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"ptools/internal/elfsym"
	"ptools/internal/program"
	"ptools/internal/tracee"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// SymbolBreak is a breakpoint at every function that is sought: of a name, or by a pattern. It waits for objects that are not
// loaded yet, and is looked up anew after an exec. For an indirect function it is set at the
// implementations that callers get.
type SymbolBreak struct {
	c         *Controller
	of        Sought
	handler   Handler
	places    []*Break // control goroutine's
	sites     sites
	lacking   []refused   // places that are still to be reported
	resolvers []*resolver // of indirect functions; likewise
	removed   bool
	asking    bool  // BreakSymbol has not returned
	err       error // of the last place where it could not be set
	missed    uncounted
	found     atomic.Bool              // an object had the symbol
	hits      atomic.Uint64            // that control has seen
	shares    atomic.Pointer[[]*share] // what the kernel has counted, places that are gone included
	addrs     atomic.Pointer[[]uint64]
}

// Object, Symbol and Offset return what was asked for.
func (s *SymbolBreak) Object() string { return s.of.Object }
func (s *SymbolBreak) Symbol() string { return s.of.Symbol }
func (s *SymbolBreak) Offset() uint64 { return s.of.Offset }

// Hits returns how often it has been hit at all its places. Any goroutine may call.
func (s *SymbolBreak) Hits() uint64 {
	n := s.hits.Load()
	for _, share := range *s.shares.Load() {
		n += share.count()
	}
	return n
}

// Addrs returns the addresses at which it is set now. Without any, it waits for an object that
// has the symbol. Any goroutine may call.
func (s *SymbolBreak) Addrs() []uint64 {
	if p := s.addrs.Load(); p != nil {
		return *p
	}
	return nil
}

// Found reports whether an object has had a function of that name so far, even if the
// breakpoint could not be set there. It is true also if an object could not be opened. Any
// goroutine may call.
func (s *SymbolBreak) Found() bool { return s.found.Load() }

// tell shows the present places to other goroutines.
func (s *SymbolBreak) tell() {
	addrs := make([]uint64, 0, len(s.places))
	for _, b := range s.places {
		addrs = append(addrs, b.addr)
	}
	s.addrs.Store(&addrs)
}

// BreakSymbol sets a breakpoint at off bytes into every function called symbol, in object (a
// path or file name; "" for all), present and to come. It may be called from any goroutine and
// from handlers. A place that comes later and cannot be had is an event, notify.BreakRefused.
// So is an object that cannot be opened for want of descriptors or memory.
func (c *Controller) BreakSymbol(ctx context.Context, object, symbol string, off uint64, h Handler) (*SymbolBreak, error) {
	return c.BreakEach(ctx, Sought{Object: object, Symbol: symbol, Offset: off}, h)
}

// Sought is what BreakEach sets a breakpoint at.
type Sought struct {
	Object string // a name; empty: any
	Symbol string // what was asked for
	Offset uint64
	IsLine bool                       // Symbol is FILE:LINE
	Find   func(*elfsym.File) []Found // called for each file, on the control goroutine; nil: functions called Symbol
}

// BreakEach is BreakSymbol for what is found in each file. Places that cannot
// have a breakpoint are one event for all that come together, and an error if none can. So are more than MostPlaces.
func (c *Controller) BreakEach(ctx context.Context, of Sought, h Handler) (*SymbolBreak, error) {
	s := &SymbolBreak{c: c, of: of, handler: h, asking: true}
	s.shares.Store(new([]*share))
	err := c.either(ctx, func() {
		c.image.symbolic = append(c.image.symbolic, s)
		s.beginMissed()                      // before the map is read
		if e := c.traps.still(func() error { // once for all places; their errors are reported one by one
			c.image.followLinker()
			c.Space().Refresh()
			s.resolve(c.image.program, c.Space().Named(of.Object))
			return nil
		}); e != nil {
			s.err = e
		}
		s.asking = false
	})
	if err == nil && s.fails() {
		s.Remove(context.WithoutCancel(ctx))
		err = s.err
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// refusals are the errors of places that could have a breakpoint otherwise.
var refusals = [...]error{
	ErrNoUprobe, ErrRestartable, ErrForeignTrap, ErrOtherPath, ErrOwnProbe, ErrShared, ErrSharedText, ErrMidInstruction, tracee.ErrUnreached,
}

// Remove takes the breakpoint away at all its places. Idempotent; may be called from
// handlers.
func (s *SymbolBreak) Remove(ctx context.Context) error {
	return s.c.either(ctx, func() {
		if s.removed {
			return
		}
		s.removed = true
		s.tellUncounted()
		s.drop(0, math.MaxUint64)
		s.c.image.symbolic = slices.DeleteFunc(slices.Clone(s.c.image.symbolic), func(x *SymbolBreak) bool { return x == s })
	})
}

// resolve sets the breakpoint at its symbols in objects of the program of. The objects go by
// the name that was asked for. If the target executes another program meanwhile, followImage
// has called resolve for that one.
func (s *SymbolBreak) resolve(of *program.Image, objects []handle.Object) {
	// An exec has removed the breakpoints themselves.
	s.places = slices.DeleteFunc(s.places, func(b *Break) bool { return b.bp == nil })
	s.resolvers = slices.DeleteFunc(s.resolvers, func(r *resolver) bool { return r.entry.bp == nil })
	var unread []handle.Object
	var found []seek
	for _, o := range objects {
		if o.Lack != nil {
			unread = append(unread, o)
		}
		if o.File == nil {
			continue
		}
		for _, sym := range s.in(o.File) {
			if sym.Kind != elfsym.Object && s.c.Space().Holds(&o, o.Bias+sym.Addr) {
				found = append(found, seek{&o, sym})
			}
		}
	}
	if s.tooMany(found) {
		found = nil
	}
	s.placeAll(of, found)
	s.tell()
	if of == s.c.image.program {
		s.tellUnread(unread)
	}
}

// tellUnread notifies the clients of objects that could not be opened and may have the symbol.
func (s *SymbolBreak) tellUnread(objects []handle.Object) {
	if len(objects) == 0 {
		return
	}
	s.found.Store(true) // perhaps
	err := objects[0].Lack
	if n := len(objects) - 1; n > 0 {
		err = fmt.Errorf("%w (the same for other objects: %d)", err, n)
	}
	s.c.publish(notify.Event{Kind: notify.BreakRefused, Symbol: s.of.Symbol, Offset: s.of.Offset, Object: objects[0].Name, Err: err})
}

// placeIn returns where in a function the breakpoint is set, as a link-time address.
func (s *SymbolBreak) placeIn(o *handle.Object, sym *Found) uint64 {
	x := &s.c.traps
	if sym.Off == 0 && s.c.opt.CountAt != nil && x.purposeOf(s.handler, toCountAll).counts() && x.probesSuit(toCountAll) {
		return s.c.opt.CountAt(o.File, &sym.Sym)
	}
	return sym.Addr + sym.Off
}

// toEntries sets the breakpoint at the beginnings of functions that it counted further on. Where it cannot be set, it continues to count.
func (s *SymbolBreak) toEntries() {
	aside := slices.DeleteFunc(slices.Clone(s.places), func(b *Break) bool { return b.entry == 0 })
	if len(aside) == 0 {
		return
	}
	_ = s.c.traps.still(func() error { // an error means that it has ended
		s.resolve(s.c.image.program, s.c.Space().Named(s.of.Object))
		for _, b := range aside {
			if slices.ContainsFunc(s.places, func(at *Break) bool { return at.addr == b.entry }) {
				s.c.traps.removeBreak(b)
			}
		}
		s.places = slices.DeleteFunc(s.places, func(b *Break) bool { return b.bp == nil })
		s.tell()
		return nil
	})
}

// place sets the breakpoint at addr, in the function at entry, where it counts for a site.
func (s *SymbolBreak) place(of *program.Image, at *site, entry, addr uint64) {
	if slices.ContainsFunc(s.places, func(b *Break) bool { return b.addr == addr }) {
		return
	}
	b, err := s.c.traps.addBreak(of, addr, s.hit, s.c.traps.purposeOf(s.handler, toCountAll))
	if err != nil {
		if !s.c.image.executing() { // else it is looked up in the new image
			s.refuse(at, addr, err)
		}
		return
	}
	if s.removed { // by a handler, while all threads were being stopped
		s.c.traps.removeBreak(b)
		return
	}
	s.found.Store(true)
	b.symbol, b.site, b.client = s, at, true
	s.missed.set(&s.c.traps, b.bp)
	if entry+at.off != addr {
		b.entry = entry
	}
	s.counted(b)
	s.places = append(s.places, b)
	s.sites.add(at, b)
}

// counted adds what the kernel counts for a place. Where a file is mapped several times one count is for all.
func (s *SymbolBreak) counted(b *Break) {
	if b.share == nil {
		return
	}
	for _, other := range s.places {
		if o := other.share; o != nil && o.tally == b.share.tally && o.owners > 0 {
			b.share = o
			o.owners++
			return
		}
	}
	shares := append(slices.Clone(*s.shares.Load()), b.share)
	s.shares.Store(&shares)
}

// isRefusal reports whether err is that of a place that could have a breakpoint otherwise.
func isRefusal(err error) bool {
	return slices.ContainsFunc(refusals[:], func(r error) bool { return errors.Is(err, r) })
}

func (s *SymbolBreak) hit(h *Hit) {
	s.hits.Add(1)
	if s.handler != nil {
		s.handler(h)
	}
}

// drop removes the places in [start, end).
func (s *SymbolBreak) drop(start, end uint64) {
	n := len(s.places)
	for _, b := range slices.Clone(s.places) { // removeBreak may wait, and an exec give s other places
		if start <= b.addr && b.addr < end {
			s.c.traps.removeBreak(b)
		}
	}
	s.places = slices.DeleteFunc(s.places, func(b *Break) bool { return b.bp == nil })
	s.resolvers = slices.DeleteFunc(s.resolvers, func(r *resolver) bool { return r.drop(start, end) })
	if len(s.places) != n {
		s.tell()
	}
}
