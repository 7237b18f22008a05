package elfsym

import "ptools/internal/cursor"

// A Place is where a part of a parameter is when its function begins.
type Place struct {
	Kind PlaceKind
	Reg  uint8 // DWARF's number of the register
	Off  int64 // from the address behind the return address
	Size uint64
}

// A PlaceKind says what a [Place] is.
type PlaceKind uint8

const (
	Nowhere    PlaceKind = iota // it was optimized away, or it is somewhere else
	InRegister                  // Reg
	OnStack                     // Off
)

// Operations of DWARF expressions that places are described by.
const (
	opConstu   = 0x10
	opConsts   = 0x11
	opPlus     = 0x22
	opPlusU    = 0x23
	opReg0     = 0x50
	opReg31    = 0x6f
	opBreg0    = 0x70
	opBreg31   = 0x8f
	opRegx     = 0x90
	opFbreg    = 0x91
	opPiece    = 0x93
	opFrameCFA = 0x9c
)

// mostPlaces bounds the parts of one parameter.
const mostPlaces = 16

// placesOf reads an expression. It knows what compilers write for parameters that have not been moved: registers, places relative to the
// caller's stack, and pieces of both. ok is false for others. Places relative to the frame are known if cfa says that it is
// that of the caller.
func placesOf(expr []byte, cfa bool) (places []Place, ok bool) {
	c := cursor.Cursor{B: expr}
	p := Place{}
	for c.Remaining() > 0 {
		switch op := c.U8(); {
		case op >= opReg0 && op <= opReg31:
			p = Place{Kind: InRegister, Reg: op - opReg0}
		case op == opRegx:
			p = Place{Kind: InRegister, Reg: uint8(min(c.Uleb(), 255))}
		case op == opFbreg && cfa:
			p = Place{Kind: OnStack, Off: c.Sleb()}
		case op == opFrameCFA:
			p = Place{Kind: OnStack}
		case op == opPlusU && p.Kind == OnStack:
			p.Off += int64(c.Uleb())
		case op == opConsts && p.Kind == OnStack:
			if p.Off += c.Sleb(); c.U8() != opPlus {
				return nil, false
			}
		case op == opConstu && p.Kind == OnStack:
			if p.Off += int64(c.Uleb()); c.U8() != opPlus {
				return nil, false
			}
		case op == opPiece:
			p.Size = c.Uleb()
			places, p = append(places, p), Place{}
		default:
			return nil, false
		}
		if c.Bad || len(places) > mostPlaces {
			return nil, false
		}
	}
	if p.Kind != Nowhere {
		places = append(places, p)
	}
	return places, len(places) > 0
}

// inFrame reports whether an expression is a place in the function's own frame, where parameters are kept without optimization.
func inFrame(l *location) bool {
	return len(l.expr) > 0 && (l.expr[0] == opFbreg || l.expr[0] >= opBreg0 && l.expr[0] <= opBreg31)
}

// at returns the expression of a location for an address, nil if there is none.
func (u *unit) at(l *location, addr uint64) []byte {
	switch {
	case l.expr != nil || !l.list.set():
		return l.expr
	case u.version < 5:
		return u.oldLocation(l.list.v, addr)
	case l.list.form == formLoclistx:
		off, ok := u.d.loclists.element(u.loclistsBase, l.list.v, u.offSize)
		if !ok {
			return nil
		}
		return u.newLocation(u.loclistsBase+off, addr)
	}
	return u.newLocation(l.list.v, addr)
}

// maxLocations bounds the entries of a list that are read: the one for the beginning of a function is among the first.
const maxLocations = 64

// oldLocation reads a list of .debug_loc: pairs of addresses relative to a base, each with an expression.
func (u *unit) oldLocation(off, addr uint64) []byte {
	c := cursor.Cursor{B: u.d.loc.upTo(off, 4<<10)}
	base, largest := u.lowPC, uint64(1)<<(8*u.addrSize-1)*2-1
	if u.d.split {
		return nil // another form, of GNU's
	}
	for range maxLocations {
		from, to := c.Uint(u.addrSize), c.Uint(u.addrSize)
		switch {
		case c.Bad || from == 0 && to == 0:
			return nil
		case from == largest:
			base = to
			continue
		}
		expr := c.Bytes(uint64(c.U16()))
		if base+from <= addr && addr < base+to {
			return expr
		}
	}
	return nil
}

// lleDefault is the one kind of entry in .debug_loclists that .debug_rnglists does not have; kinds from there on are one higher.
const lleDefault = 5

// newLocation reads a list of .debug_loclists.
func (u *unit) newLocation(off, addr uint64) []byte {
	c := cursor.Cursor{B: u.d.loclists.upTo(off, 4<<10)}
	base := u.lowPC
	indexed := func(i uint64) uint64 {
		a, ok := u.address(value{form: formAddrx, v: i})
		c.Bad = c.Bad || !ok
		return a
	}
	for range maxLocations {
		var from, to uint64
		switch kind := c.U8(); kind {
		case rleBaseAddressx:
			base = indexed(c.Uleb())
			continue
		case rleBaseAddress + 1:
			base = c.Uint(u.addrSize)
			continue
		case rleStartxEndx:
			from, to = indexed(c.Uleb()), indexed(c.Uleb())
		case rleStartxLength:
			from = indexed(c.Uleb())
			to = from + c.Uleb()
		case rleOffsetPair:
			from, to = base+c.Uleb(), base+c.Uleb()
		case lleDefault:
			from, to = 0, ^uint64(0)
		case rleStartEnd + 1:
			from, to = c.Uint(u.addrSize), c.Uint(u.addrSize)
		case rleStartLength + 1:
			from = c.Uint(u.addrSize)
			to = from + c.Uleb()
		default: // the end, or unknown
			return nil
		}
		expr := c.Bytes(c.Uleb())
		if c.Bad {
			return nil
		}
		if from <= addr && addr < to {
			return expr
		}
	}
	return nil
}
