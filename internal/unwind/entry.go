package unwind

import (
	"bytes"
	"errors"
	"fmt"

	"ptools/internal/cursor"
)

// A section is the bytes of .eh_frame or .debug_frame, and their address.
type section struct {
	addr uint64
	data []byte
	eh   bool // .eh_frame: 4-byte ids, CIE pointers relative to themselves
	base bases
}

// A cie is the common part of the entries of many functions.
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

// maxAugmentation is how many letters an augmentation may have, with its final zero. There are eight letters.
const maxAugmentation = 32

var (
	errTerminator = errors.New("end of entries")
	errNotFDE     = errors.New("entry is not an FDE")
	errCorrupt    = errors.New("corrupt entry")
)

// An entry is the header common to CIEs and FDEs.
type entry struct {
	isCIE  bool
	cieOff int64 // of an FDE: where its CIE is in the section
	body   cursor.Cursor
	next   int64 // offset of the entry after this one
}

// entryAt reads the header of the entry at an offset of the section.
func (s *section) entryAt(off int64) (entry, error) {
	if off < 0 || off >= int64(len(s.data)) {
		return entry{}, errCorrupt
	}
	c := cursor.Cursor{B: s.data, Off: uint64(off), Addr: s.addr}
	var e entry
	n, offsetSize := c.Length()
	if n == 0 && !c.Bad {
		return entry{next: int64(c.Off)}, errTerminator
	}
	if c.Bad || n > c.Remaining() {
		return entry{}, errCorrupt
	}
	e.next = int64(c.Off) + int64(n)
	c.B = c.B[:e.next]

	// The id of an .eh_frame entry has 4 bytes even if the length has 12.
	at := int64(c.Off)
	if s.eh {
		id := c.U32()
		e.isCIE, e.cieOff = id == 0, at-int64(id)
	} else {
		id := c.Uint(offsetSize)
		e.isCIE, e.cieOff = id == uint64(1)<<(8*offsetSize)-1, int64(id)
	}
	if c.Bad {
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
	version := c.U8()
	if bytes.IndexByte(c.Rest()[:min(c.Remaining(), maxAugmentation)], 0) < 0 { // it may be as long as the section, in any number of entries
		return nil, errCorrupt
	}
	augmentation := c.CString(maxAugmentation)
	switch version {
	case 1, 3:
	case 4:
		ci.addrSize = c.U8()
		if segment := c.U8(); segment != 0 {
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
		c.U64() // exception table of gcc 2
		augmentation = augmentation[2:]
	}
	ci.codeAlign = c.Uleb()
	ci.dataAlign = c.Sleb()
	if version == 1 {
		ci.ra = uint64(c.U8())
	} else {
		ci.ra = c.Uleb()
	}
	if err := ci.augment(&c, augmentation, s.base); err != nil {
		return nil, err
	}
	if c.Bad {
		return nil, errCorrupt
	}
	ci.program = c.Rest()
	return ci, nil
}

// augment reads the augmentation data of a CIE, and leaves c at its instructions.
func (ci *cie) augment(c *cursor.Cursor, letters string, b bases) error {
	if letters == "" {
		return nil
	}
	end := uint64(0) // 0: not known
	if letters[0] == 'z' {
		ci.augmented = true
		n := c.Uleb()
		if c.Bad || n > c.Remaining() {
			return errCorrupt
		}
		end = c.Off + n
		letters = letters[1:]
	}
	for _, l := range letters {
		switch l {
		case 'R':
			ci.fdeEnc = c.U8()
		case 'P':
			pointer(c, c.U8(), b)
		case 'L':
			c.U8()
		case 'S':
			ci.signal = true
		case 'B', 'G': // AArch64 only, without data
		default:
			if end == 0 {
				return fmt.Errorf("augmentation %q", letters)
			}
			c.Off = end // the rest is unknown, but its length is not
			return nil
		}
	}
	if end > 0 {
		c.Off = end
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
	f.start = pointer(&c, ci.fdeEnc, s.base)
	f.end = f.start + value(&c, ci.fdeEnc)
	if ci.augmented {
		c.Bytes(c.Uleb())
	}
	if c.Bad || f.end < f.start {
		return fde{}, errCorrupt
	}
	f.addr = c.Pos()
	f.program = c.Rest()
	return f, nil
}
