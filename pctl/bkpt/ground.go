package bkpt

import (
	"errors"
	"fmt"
	"slices"
)

// A Ground tells what is mapped in the target. It is asked on the control goroutine.
type Ground interface {
	// Mapping returns what is mapped at addr; ok is false where nothing is.
	Mapping(addr uint64) (m Mapping, ok bool, err error)
}

// A Mapping is a range of the target's addresses, [Start, End).
type Mapping struct {
	Start, End uint64
	File       File   // zero: memory without a file
	Off        uint64 // of Start in the file
	Shared     bool   // with other processes, and with the file
	Exec       bool
}

// File identifies a file.
type File struct {
	Major, Minor uint32
	Inode        uint64
}

// Reasons why no int3 is planted.
var (
	// ErrSharedText: an int3 would stand in the file, and in every process that maps it.
	ErrSharedText = errors.New("the memory is shared with a file or other processes (MAP_SHARED), where an int3 would stand for all")
	// ErrNotText: an int3 would be data.
	ErrNotText = errors.New("the memory is not executable")
	// ErrTextGone, ErrTextReplaced and ErrTextRewritten: a trap does not return to what is not
	// the text any more that it was planned for.
	ErrTextGone      = errors.New("its text is not mapped any more")
	ErrTextReplaced  = errors.New("other memory is mapped where its text was")
	ErrTextRewritten = errors.New("the program has rewritten its text")
)

// SetGround has a table without breakpoints ask what is mapped before it writes. Without a ground whatever can
// be read is text.
func (t *Table) SetGround(g Ground) { t.ground = g }

// place is what a trap was planned for.
type place struct {
	file File
	off  uint64 // in the file
	anon bool
}

// lifted is a trap that was taken out lately.
type lifted struct {
	orig  byte
	place place
}

// has reports whether p may still be at addr. Only another mapping says that it is not.
func (g *ground) has(addr uint64, p place) bool {
	now, err := g.at(addr)
	switch {
	case err == nil:
		return now == p
	case errors.Is(err, ErrTextGone), errors.Is(err, ErrNotText), errors.Is(err, ErrSharedText):
		return false
	}
	return true
}

// ground remembers the last mapping of one pass over breakpoints in ascending order.
type ground struct {
	of   Ground
	last Mapping
}

// at returns the place of an address that may bear an int3, or why it may not.
func (g *ground) at(addr uint64) (place, error) {
	if g.of == nil {
		return place{}, nil
	}
	if addr < g.last.Start || g.last.End <= addr {
		m, ok, err := g.of.Mapping(addr)
		switch {
		case err != nil:
			return place{}, err
		case !ok:
			return place{}, ErrTextGone
		}
		g.last = m
	}
	m := g.last
	switch {
	case m.Shared:
		return place{}, ErrSharedText
	case m.File == (File{}):
		// Memory without a file has no identity: made executable, it is text.
		if !m.Exec {
			return place{}, ErrNotText
		}
		return place{anon: true}, nil
	}
	return place{file: m.File, off: addr - m.Start + m.Off}, nil
}

// stand finds out where b is to stand, before its first int3.
func (t *Table) stand(b *Breakpoint) error {
	g := ground{of: t.ground}
	p, err := g.at(b.Addr)
	if err == nil && g.of != nil && !g.last.Exec {
		err = ErrNotText
	}
	if err != nil {
		return fmt.Errorf("breakpoint at %#x: %w", b.Addr, err)
	}
	b.place = p
	return nil
}

// standing returns those of bs whose text is still what they were planned for. The others end: nothing is
// written there. The result is good until the next call.
func (t *Table) standing(bs []*Breakpoint) []*Breakpoint {
	if t.ground == nil {
		return bs
	}
	g := ground{of: t.ground}
	t.left = t.left[:0]
	for _, b := range bs {
		p, err := g.at(b.Addr)
		if err == nil && p != b.place {
			err = ErrTextReplaced
		}
		if err != nil {
			t.end(b, err)
			continue
		}
		t.left = append(t.left, b)
	}
	return t.left
}

// end makes a breakpoint dead.
func (t *Table) end(b *Breakpoint, why error) {
	if b.armed {
		b.armed = false
		t.lifted[b.Addr] = lifted{b.Orig(), b.place} // a thread may have run into it before
		t.changed()
	}
	t.observer.Lifted(b.Addr)
	t.scratch.retire(b)
	b.dead = true
	t.ended = append(t.ended, Ended{b, why})
}

// Ended is a breakpoint that is dead, and why.
type Ended struct {
	Breakpoint *Breakpoint
	Why        error
}

// TakeEnded returns the breakpoints that have ended since it was called last.
func (t *Table) TakeEnded() []Ended {
	ended := t.ended
	t.ended = nil
	return ended
}

// forgetEnded is for a breakpoint that is removed, or lives again.
func (t *Table) forgetEnded(b *Breakpoint) {
	t.ended = slices.DeleteFunc(t.ended, func(e Ended) bool { return e.Breakpoint == b })
}
