package x86

import "errors"

var (
	errTruncated = errors.New("instruction is cut short")
	errInvalid   = errors.New("not an instruction")
	// errUnknown: an opcode map that is not defined yet, or an opcode whose length differs between makers.
	errUnknown = errors.New("the instruction's length is not known")
)

// maxLen is the longest instruction a processor accepts.
const maxLen = 15

// Length returns the length of the instruction that code begins with. It returns 0 if
// there is none, if it is cut short, or if its length is not the same on every processor.
func Length(code []byte) int {
	in, err := decode(code)
	if err != nil {
		return 0
	}
	return len(in.code)
}

// decode returns the shape of the instruction at the start of code.
func decode(code []byte) (in inst, err error) {
	in.extPos = -1
	d := decoder{inst: &in, text: code}
	if err = d.opcode(); err == nil {
		err = d.operands()
	}
	in.code = code[:d.pos]
	return in, err
}

// decoder walks over text and fills in inst.
type decoder struct {
	*inst
	text []byte
	pos  int
}

func (d *decoder) peek() (byte, bool) {
	if d.pos >= len(d.text) || d.pos >= maxLen {
		return 0, false
	}
	return d.text[d.pos], true
}

func (d *decoder) byte() (byte, error) {
	c, ok := d.peek()
	if !ok {
		if d.pos >= maxLen {
			return 0, errInvalid
		}
		return 0, errTruncated
	}
	d.pos++
	return c, nil
}

// signed reads n little-endian bytes and extends the sign.
func (d *decoder) signed(n int) (int64, error) {
	var v uint64
	for i := range n {
		c, err := d.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(c) << (8 * i)
	}
	if n == 0 {
		return 0, nil
	}
	return extend(v, uint8(n)), nil
}

// opcode reads prefixes and opcode bytes.
func (d *decoder) opcode() error {
	c, err := d.prefix()
	if err != nil {
		return err
	}
	switch c {
	case 0xc4, 0xc5, 0x62:
		return d.vector(c)
	case 0x8f:
		if next, ok := d.peek(); ok && next&0x38 != 0 {
			return d.vector(c)
		}
	case 0xd5: // REX2 of APX
		return errUnknown
	case 0x0f:
		return d.escape()
	}
	d.op = c
	return nil
}

// prefix reads the legacy and REX prefixes and returns the byte after them.
func (d *decoder) prefix() (byte, error) {
	for {
		c, err := d.byte()
		if err != nil {
			return 0, err
		}
		switch c {
		case 0x66:
			d.prefixes |= prefixOpSize
		case 0x67:
			d.prefixes |= prefixAdSize
		case 0xf0:
			d.prefixes |= prefixLock
		case 0xf2, 0xf3:
			if d.rep != 0 && d.rep != c {
				d.prefixes |= prefixBothRep
			}
			d.rep = c
		case 0x64, 0x65:
			d.seg = c
		case 0x26, 0x2e, 0x36, 0x3e:
			// Null prefixes, branch hints, notrack. They do not undo an
			// earlier fs or gs.
		default:
			if c&0xf0 != 0x40 {
				return c, nil
			}
			// Only a REX right before the opcode counts.
			d.rex, d.extPos = c, d.pos-1
			if next, ok := d.peek(); ok && isPrefix(next) {
				d.rex, d.extPos = 0, -1
			}
		}
	}
}

func isPrefix(c byte) bool {
	switch c {
	case 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x64, 0x65, 0x26, 0x2e, 0x36, 0x3e:
		return true
	}
	return c&0xf0 == 0x40
}

// escape reads an opcode of the 0F maps.
func (d *decoder) escape() error {
	c, err := d.byte()
	if err != nil {
		return err
	}
	d.mp, d.op = map0F, c
	if c != 0x38 && c != 0x3a {
		return nil
	}
	d.mp = map0F38
	if c == 0x3a {
		d.mp = map0F3A
	}
	d.op, err = d.byte()
	return err
}

// vector reads the payload of a VEX, EVEX or XOP prefix and the opcode byte. The
// register bits of the payload are stored inverted. After a legacy 66, F2, F3, F0
// or REX the prefix is undefined.
func (d *decoder) vector(first byte) error {
	if d.rex != 0 || d.has(prefixOpSize|prefixLock) || d.rep != 0 {
		return errInvalid
	}
	n := 2
	switch first {
	case 0xc5:
		d.enc, n = vex, 1
	case 0xc4:
		d.enc = vex
	case 0x62:
		d.enc, n = evex, 3
	case 0x8f:
		d.enc = xop
	}
	var p [3]byte
	at := d.pos
	for i := range n {
		c, err := d.byte()
		if err != nil {
			return err
		}
		p[i] = c
	}
	if n == 1 {
		d.mp = map0F
		d.rex = ^p[0] >> 5 & rexR
		d.vvvv = ^p[0] >> 3 & 15
	} else {
		d.mp = p[0] & 0x1f
		if d.enc == evex {
			d.mp = p[0] & 7
		}
		d.rex = ^p[0]>>5&7 | p[1]>>4&rexW
		d.vvvv = ^p[1] >> 3 & 15
		d.extPos = at
	}
	if !d.knowsMap() {
		return errUnknown
	}
	c, err := d.byte()
	d.op = c
	return err
}

// knowsMap reports whether the format of every opcode in the vector map is known.
// EVEX map 4 belongs to APX, and VEX map 7 has other immediates.
func (d *decoder) knowsMap() bool {
	switch d.enc {
	case vex:
		return d.mp >= 1 && d.mp <= 3
	case evex:
		return d.mp >= 1 && d.mp <= 6 && d.mp != 4
	}
	return d.mp >= 8 && d.mp <= 10
}

// operands reads ModRM, SIB, displacement and immediates as the opcode's
// format demands.
func (d *decoder) operands() error {
	f := d.format()
	switch f {
	case 'x':
		return errInvalid
	case '?':
		return errUnknown
	case 'm', 'r', 'B', 'Z', '3', '4', 's':
		if err := d.readModRM(f == 'r'); err != nil {
			return err
		}
	}
	n, err := d.immediate(f)
	if err != nil {
		return err
	}
	d.imm, err = d.signed(n)
	return err
}

// readModRM reads ModRM, and the SIB and displacement that it asks for. registers says
// that ModRM means registers whatever its mod is.
func (d *decoder) readModRM(registers bool) error {
	var err error
	d.modPos = d.pos
	if d.modrm, err = d.byte(); err != nil {
		return err
	}
	if registers {
		d.modrm |= 0xc0
	}
	rm := d.modrm & 7
	if d.hasSIB() {
		if d.sib, err = d.byte(); err != nil {
			return err
		}
		rm = d.sib & 7
	}
	n := 0
	switch mod := d.mod(); {
	case mod == 1:
		n = 1
	case mod == 2, mod == 0 && rm == 5:
		n = 4
	}
	if n == 0 {
		return nil
	}
	d.dispPos = d.pos
	v, err := d.signed(n)
	d.disp = int32(v)
	return err
}
