package bkpt

import (
	"errors"
	"fmt"
	"slices"
)

// A Ground knows what is mapped in the target. Its methods are called on the control goroutine.
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
	// ErrSharedText: an int3 would be written to the file, and so to every process that maps it.
	ErrSharedText = errors.New("the memory is shared with a file or other processes (MAP_SHARED), where an int3 would stand for all")
	// ErrNotText: an int3 would change data.
	ErrNotText = errors.New("the memory is not executable")
	// ErrTextGone, ErrTextReplaced and ErrTextRewritten: the text that the trap was planned for is not there any
	// more, so the trap is not planted again.
	ErrTextGone      = errors.New("its text is not mapped any more")
	ErrTextReplaced  = errors.New("other memory is mapped where its text was")
	ErrTextRewritten = errors.New("the program has rewritten its text")
)

// SetGround makes a table without breakpoints ask g what is mapped, before it writes. Without a ground all memory that
// can be read is text.
func (t *Table) SetGround(g Ground) { t.ground = g }

// place is the memory that a trap was planned for.
type place struct {
	file File
	off  uint64 // in the file
	anon bool
}

// lifted is a trap that was lifted lately.
type lifted struct {
	orig  byte
	place place
}

// has reports whether p may still be at addr. Only another mapping there shows that it is not.
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

// ground is a Ground that remembers the last mapping, for one pass over breakpoints in ascending order.
type ground struct {
	of   Ground
	last Mapping
}

// at returns the place of an address. The error says why an int3 may not be planted there.
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
		// Memory without a file has no identity. It is text if it is executable.
		if !m.Exec {
			return place{}, ErrNotText
		}
		return place{anon: true}, nil
	}
	return place{file: m.File, off: addr - m.Start + m.Off}, nil
}

// stand finds the place of b, before its first int3.
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

// standing returns the breakpoints in bs whose place is still at their address. The others end, and nothing is
// written there. The result is valid until the next call.
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
		t.lifted[b.Addr] = lifted{b.Orig(), b.place} // a thread may have hit it before
		t.changed()
		if why != ErrTextRewritten && b.place.file != (File{}) {
			t.strays[b.place] = b.Orig() // the program may have moved its text, with the trap
		}
	}
	t.observer.Lifted(b.Addr)
	t.scratch.retire(b)
	b.dead = true
	t.ended = append(t.ended, Ended{b, why})
}

// Adopt adds one owner to the breakpoint whose int3 has come to addr with its text, which the program has moved (mremap). from is the
// address where the int3 was planted, or 0 if that breakpoint has ended. It returns nil if there is no such trap.
func (t *Table) Adopt(addr uint64) (b *Breakpoint, from uint64) {
	g := ground{of: t.ground}
	p, err := g.at(addr)
	if t.ground == nil || err != nil || p.anon {
		return nil, 0
	}
	orig, ok := t.strays[p]
	for _, other := range t.sorted {
		if other.trap == t.kinds[0] && other.place == p {
			orig, from, ok = other.Orig(), other.Addr, true
		}
	}
	var code [codeSize]byte
	n, _ := t.mem.ReadAt(code[:], int64(addr))
	if !ok || n == 0 || code[0] != breakByte {
		return nil, 0
	}
	t.Overlay(code[:n], addr)
	code[0] = orig
	b = &Breakpoint{Addr: addr, owners: 1, trap: t.kinds[0], place: p, armed: true}
	if b.setCode(code[:n]) != nil {
		return nil, 0
	}
	t.observer.Planting(addr, breakByte, orig)
	t.insert(b)
	t.changed()
	return b, from
}

// Ended is a breakpoint that is dead, with the reason.
type Ended struct {
	Breakpoint *Breakpoint
	Why        error
}

// TakeEnded returns the breakpoints that have ended since the last call.
func (t *Table) TakeEnded() []Ended {
	ended := t.ended
	t.ended = nil
	return ended
}

// forgetEnded removes a breakpoint from the ended ones: it is removed, or revived.
func (t *Table) forgetEnded(b *Breakpoint) {
	t.ended = slices.DeleteFunc(t.ended, func(e Ended) bool { return e.Breakpoint == b })
}
