package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ptools/internal/elfsym"
	"ptools/internal/program"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// MostPlaces is how many functions a breakpoint by pattern may be at.
const MostPlaces = 2000

// Found is a place in a file: Off bytes into a function.
type Found struct {
	elfsym.Sym
	Off uint64
	Err error // why there can be no breakpoint
}

// Place is where a breakpoint is, or was, and how often it has been hit there.
type Place struct {
	Symbol string   // the function
	Object string   // its path
	Offset uint64   // bytes into the function
	Addrs  []uint64 // present addresses; none if the object is not there, several if it is mapped several times
	Hits   uint64
}

// site is a place of a SymbolBreak, whether its object is mapped or not.
type site struct {
	siteKey
	breaks []*Break
	past   uint64 // hits of breaks that are left out
}

type siteKey struct {
	object, symbol string
	addr, off      uint64 // of the function, as in its file, and behind that
}

// sites are all of a SymbolBreak. The control goroutine changes them; any may read.
type sites struct {
	mu   sync.Mutex
	list []*site
	at   map[siteKey]*site
}

// siteOf returns the site of a place that was found in an object.
func (s *SymbolBreak) siteOf(o *handle.Object, f *Found) *site {
	k := siteKey{o.Path, f.Name, f.Addr, f.Off}
	if k.symbol == "" {
		k.symbol = f.Raw
	}
	p := s.sites.at[k]
	if p == nil {
		p = &site{siteKey: k}
	}
	return p
}

// add adds a breakpoint to a site. What has been removed from there is summed up.
func (l *sites) add(p *site, b *Break) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = map[siteKey]*site{}
	}
	if len(p.breaks) == 0 && p.past == 0 && !slices.Contains(l.list, p) {
		l.list = append(l.list, p)
		l.at[p.siteKey] = p
	}
	for i := 0; i < len(p.breaks); i++ {
		if old := p.breaks[i]; old.bp == nil {
			p.past += old.hits.Load()
			if p.breaks = slices.Delete(p.breaks, i, i+1); !p.counts(old.share, len(p.breaks)) && old.share != b.share {
				p.past += old.share.count()
			}
			i--
		}
	}
	p.breaks = append(p.breaks, b)
}

// counts reports whether one of the first n breaks has a share.
func (p *site) counts(s *share, n int) bool {
	return slices.ContainsFunc(p.breaks[:n], func(b *Break) bool { return b.share == s })
}

func (p *site) hits() uint64 {
	n := p.past
	for i, b := range p.breaks {
		n += b.hits.Load()
		if !p.counts(b.share, i) {
			n += b.share.count()
		}
	}
	return n
}

// Places returns where it is and was, in the order in which the places were found. Any goroutine may call.
func (s *SymbolBreak) Places() (all []Place) {
	present := map[uint64]bool{}
	for _, addr := range s.Addrs() {
		present[addr] = true
	}
	s.sites.mu.Lock()
	defer s.sites.mu.Unlock()
	for _, p := range s.sites.list {
		at := Place{Symbol: p.symbol, Object: p.object, Offset: p.off, Hits: p.hits()}
		for _, b := range p.breaks {
			if present[b.addr] && !slices.Contains(at.Addrs, b.addr) {
				at.Addrs = append(at.Addrs, b.addr)
			}
		}
		all = append(all, at)
	}
	return all
}

// Places returns the address, as those of SymbolBreak do.
func (b *Break) Places() []Place { return []Place{{Addrs: b.Addrs(), Hits: b.Hits()}} }

// label returns the symbol and the offset that a place of a SymbolBreak has in events: what was asked for, or the function that was found.
func (b *Break) label() (symbol string, off uint64) {
	if b.symbol.of.Find == nil {
		return b.symbol.of.Symbol, b.symbol.of.Offset
	}
	return b.site.symbol, b.site.off
}

// in returns the places in a file.
func (s *SymbolBreak) in(f *elfsym.File) (found []Found) {
	if s.of.Find != nil {
		return s.of.Find(f)
	}
	for _, sym := range f.ByName(s.of.Symbol) {
		place := Found{Sym: sym, Off: s.of.Offset}
		if s.of.Offset != 0 && sym.Kind != elfsym.IFunc {
			place.Err = s.c.image.begins(f, sym.Addr+s.of.Offset)
		}
		found = append(found, place)
	}
	return found
}

// seek is a place that the breakpoint is to be set at.
type seek struct {
	o *handle.Object
	Found
}

// TooMany is the error of a pattern that matches more functions, or of a line that has more places, than MostPlaces.
type TooMany struct {
	N    int
	Line bool
}

func (e TooMany) Error() string {
	if e.Line {
		return fmt.Sprintf("it has %d places, and at most %d may have a breakpoint: name their object, as in 'libc.so.6`FILE:LINE', or more of the path", e.N, MostPlaces)
	}
	return fmt.Sprintf("%d functions match, and at most %d may have a breakpoint: name their object, as in 'libc.so.6`str*', or more of the name", e.N, MostPlaces)
}

// tooMany reports that there are more places than there may be.
func (s *SymbolBreak) tooMany(found []seek) bool {
	n := len(s.places) + len(found)
	if s.of.Find == nil || n <= MostPlaces {
		return false
	}
	s.err = TooMany{n, s.of.IsLine}
	s.found.Store(true)
	if !s.asking {
		s.c.publish(notify.Event{Kind: notify.BreakRefused, Symbol: s.of.Symbol, Offset: s.of.Offset, Object: found[0].o.Name, Err: s.err})
	}
	return true
}

// placeAll sets the breakpoint at places that were found.
func (s *SymbolBreak) placeAll(of *program.Image, found []seek) {
	addrs := make([]uint64, len(found))
	var good []uint64
	for i := range found {
		f := &found[i]
		addrs[i] = f.o.Bias + s.placeIn(f.o, &f.Found)
		if f.Err == nil {
			good = append(good, addrs[i])
		}
	}
	finish := s.c.traps.prepare(good, s.c.traps.purposeOf(s.handler, toCountAll))
	defer finish()
	for i := range found {
		f := &found[i]
		if f.Err != nil {
			s.refuse(s.siteOf(f.o, &f.Found), addrs[i], f.Err)
		} else if f.Kind == elfsym.IFunc {
			s.followResolver(of, *f.o, &f.Found)
		} else {
			s.place(of, s.siteOf(f.o, &f.Found), f.o.Bias+f.Addr, addrs[i])
		}
	}
	s.tellRefused()
}

// refused is a place that the breakpoint could not be set at.
type refused struct {
	*site
	addr uint64
	err  error
}

// refuse notes that the breakpoint cannot be set at addr. Data of that name is no place. A program that was replaced has no places.
func (s *SymbolBreak) refuse(at *site, addr uint64, err error) {
	if err == errReplacedProgram {
		return
	}
	s.err = err
	if !s.c.image.program.IsText(addr) {
		return
	}
	s.found.Store(true)
	s.missed.known = append(s.missed.known, addr)
	s.lacking = append(s.lacking, refused{at, addr, err})
}

// fails reports whether BreakEach returns the error of a place, and sets the breakpoint nowhere.
func (s *SymbolBreak) fails() bool {
	var many TooMany
	return s.of.Find == nil && isRefusal(s.err) || errors.As(s.err, &many) || s.of.Find != nil && s.err != nil && len(s.places)+len(s.resolvers) == 0
}

// tellRefused notifies the clients of places that the breakpoint could not be set at, unless BreakEach returns the error. Those of a pattern
// are one event.
func (s *SymbolBreak) tellRefused() {
	lacking := s.lacking
	s.lacking = nil
	if s.of.Find != nil && len(lacking) > 1 {
		s.err = severalRefused(lacking, s.of.IsLine)
		lacking = []refused{{&site{siteKey: siteKey{symbol: s.of.Symbol, off: s.of.Offset}}, 0, s.err}}
	}
	for _, r := range lacking {
		if s.asking && (s.fails() || s.of.Find == nil && isRefusal(r.err)) {
			continue
		}
		e := notify.Event{Kind: notify.BreakRefused, Addr: r.addr, Symbol: s.of.Symbol, Offset: s.of.Offset, Err: r.err}
		if s.of.Find != nil {
			e.Symbol, e.Offset = r.symbol, r.off
		}
		if o, ok := s.c.Space().Object(r.addr); ok && r.addr != 0 {
			e.Object = o.Name
		}
		s.c.publish(e)
	}
}

// mostNamed is how many functions an error names.
const mostNamed = 3

// severalRefused is one error for several places.
func severalRefused(list []refused, line bool) error {
	var names []string
	for _, r := range list {
		if len(names) < mostNamed && !slices.Contains(names, r.symbol) {
			names = append(names, r.symbol)
		}
	}
	more, what := "", "functions"
	if line {
		what = "places"
	}
	if len(list) > len(names) {
		more = " and others"
	}
	return fmt.Errorf("%d %s (%s%s) cannot have one: %w", len(list), what, strings.Join(names, ", "), more, list[0].err)
}
