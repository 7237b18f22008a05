package unwind

import (
	"errors"
	"fmt"
)

// A section is the bytes of .eh_frame or .debug_frame, and where they are.
type section struct {
	addr uint64
	data []byte
	eh   bool // .eh_frame: 4-byte ids, CIE pointers relative to themselves
	base bases
}

// A cie is what the entries of many functions have in common.
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64 // column of the return address
	fdeEnc    uint8  // encoding of an FDE's addresses
	augmented bool   // augmentation data has a length ("z")
	signal    bool   // frames of a signal trampoline ("S")
	addrSize  uint8
	program   []byte // initial instructions
}

// An fde is the entry of one function. Its program's addresses are link-time ones.
type fde struct {
	cie        *cie
	start, end uint64
	program    []byte
	addr       uint64 // address of program[0]
}

var (
	errTerminator = errors.New("end of entries")
	errNotFDE     = errors.New("entry is not an FDE")
	errCorrupt    = errors.New("corrupt entry")
)

// An entry is the header common to CIEs and FDEs.
type entry struct {
	isCIE  bool
	cieOff int64 // of an FDE: where its CIE is in the section
	body   cursor
	wide   bool  // 64-bit DWARF
	next   int64 // offset of the entry after this one
}

// entryAt reads the header of the entry at an offset of the section.
func (s *section) entryAt(off int64) (entry, error) {
	if off < 0 || off >= int64(len(s.data)) {
		return entry{}, errCorrupt
	}
	c := cursor{data: s.data, off: int(off), addr: s.addr}
	var e entry
	n := uint64(c.u32())
	if n == 0xffffffff {
		e.wide = true
		n = c.u64()
	}
	if n == 0 && !c.bad {
		return entry{next: int64(c.off)}, errTerminator
	}
	if c.bad || n > uint64(c.rest()) {
		return entry{}, errCorrupt
	}
	e.next = int64(c.off) + int64(n)
	c.data = c.data[:e.next]

	// The id of an .eh_frame entry has 4 bytes also where the length has 12.
	at := int64(c.off)
	switch {
	case s.eh:
		id := c.u32()
		e.isCIE = id == 0
		e.cieOff = at - int64(id)
	case e.wide:
		id := c.u64()
		e.isCIE = id == ^uint64(0)
		e.cieOff = int64(id)
	default:
		id := c.u32()
		e.isCIE = id == 0xffffffff
		e.cieOff = int64(id)
	}
	if c.bad {
		return entry{next: e.next}, errCorrupt
	}
	e.body = c
	return e, nil
}

// cieAt parses the CIE at an offset of the section.
func (s *section) cieAt(off int64) (*cie, error) {
	e, err := s.entryAt(off)
	if err != nil {
		return nil, err
	}
	if !e.isCIE {
		return nil, errCorrupt
	}
	c := e.body
	ci := &cie{fdeEnc: encAbsptr, addrSize: 8}
	version := c.u8()
	augmentation := c.str()
	switch version {
	case 1, 3:
	case 4:
		ci.addrSize = c.u8()
		if segment := c.u8(); segment != 0 {
			return nil, errors.New("segmented addresses")
		}
	default:
		return nil, fmt.Errorf("CIE version %d", version)
	}
	if ci.addrSize != 8 && ci.addrSize != 4 {
		return nil, fmt.Errorf("addresses of %d bytes", ci.addrSize)
	}
	if ci.addrSize == 4 {
		ci.fdeEnc = encUdata4
	}
	if len(augmentation) >= 2 && augmentation[:2] == "eh" {
		c.u64() // exception table of gcc 2
		augmentation = augmentation[2:]
	}
	ci.codeAlign = c.uleb()
	ci.dataAlign = c.sleb()
	if version == 1 {
		ci.ra = uint64(c.u8())
	} else {
		ci.ra = c.uleb()
	}
	if err := ci.augment(&c, augmentation, s.base); err != nil {
		return nil, err
	}
	if c.bad {
		return nil, errCorrupt
	}
	ci.program = c.data[c.off:]
	return ci, nil
}

// augment reads the augmentation data of a CIE, and leaves c at its instructions.
func (ci *cie) augment(c *cursor, letters string, b bases) error {
	if letters == "" {
		return nil
	}
	end := -1
	if letters[0] == 'z' {
		ci.augmented = true
		n := c.uleb()
		if c.bad || n > uint64(c.rest()) {
			return errCorrupt
		}
		end = c.off + int(n)
		letters = letters[1:]
	}
	for _, l := range letters {
		switch l {
		case 'R':
			ci.fdeEnc = c.u8()
		case 'P':
			c.pointer(c.u8(), b)
		case 'L':
			c.u8()
		case 'S':
			ci.signal = true
		case 'B', 'G': // AArch64 only, without data
		default:
			if end < 0 {
				return fmt.Errorf("augmentation %q", letters)
			}
			c.off = end // what follows is unknown, but its length is not
			return nil
		}
	}
	if end >= 0 {
		c.off = end
	}
	return nil
}

// fdeAt parses the FDE at an offset; cies finds its CIE.
func (s *section) fdeAt(off int64, cies func(off int64) (*cie, error)) (fde, error) {
	e, err := s.entryAt(off)
	if err != nil {
		return fde{}, err
	}
	if e.isCIE {
		return fde{}, errNotFDE
	}
	return s.fde(e, cies)
}

// fde parses the body of an FDE.
func (s *section) fde(e entry, cies func(off int64) (*cie, error)) (fde, error) {
	ci, err := cies(e.cieOff)
	if err != nil {
		return fde{}, err
	}
	c := e.body
	f := fde{cie: ci}
	if ci.fdeEnc == encOmit || ci.fdeEnc&encIndirect != 0 {
		return fde{}, errCorrupt
	}
	f.start = c.pointer(ci.fdeEnc, s.base)
	f.end = f.start + c.value(ci.fdeEnc)
	if ci.augmented {
		c.bytes(c.uleb())
	}
	if c.bad || f.end < f.start {
		return fde{}, errCorrupt
	}
	f.addr = c.pos()
	f.program = c.data[c.off:]
	return f, nil
}
