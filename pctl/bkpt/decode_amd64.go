package bkpt

import "errors"

// encoding is the family an instruction's opcode bytes belong to.
type encoding uint8

const (
	legacy encoding = iota // one-byte opcodes and the 0F, 0F38, 0F3A maps
	vex                    // C4, C5
	evex                   // 62
	xop                    // 8F with reg != 0
)

// Opcode maps. Legacy, VEX and EVEX number the first four alike; XOP has its
// own three.
const (
	mapOne  = 0 // one-byte opcodes
	map0F   = 1
	map0F38 = 2
	map0F3A = 3
)

var (
	errTruncated = errors.New("instruction is cut short")
	errInvalid   = errors.New("not an instruction")
)

// insn is the shape of one instruction: where its parts lie and what its
// prefixes say, but not what it does. It is what a copy at another address
// needs, and it is known for encodings that x86asm cannot name yet.
type insn struct {
	code []byte // exactly the instruction's bytes
	enc  encoding
	mp   uint8 // opcode map
	op   byte

	rex     byte // 0 if none; for VEX and EVEX the same bits W R X B, not inverted
	rep     byte // last of F2, F3; 0 if none
	seg     byte // 64 or 65; the other segment prefixes mean nothing in 64-bit mode
	lock    bool
	opSize  bool // 66
	adSize  bool // 67
	bothRep bool // F2 and F3: the last one wins on the processors seen, but no manual says so

	vvvv     uint8 // second source register of VEX and EVEX, not inverted; 0 otherwise
	extPos   int   // offset of the byte that holds the B bit (REX, VEX or EVEX payload), -1 if none
	hasModRM bool
	modrm    byte
	modPos   int
	sib      byte
	hasSIB   bool
	disp     int32
	dispPos  int // offset of the displacement, 0 if none
	imm      int64
	immLen   int

	unknown bool // the length is not known: a map of the future, or makers disagree
}

// REX bits.
const (
	rexB = 1 << iota
	rexX
	rexR
	rexW
)

func (in *insn) mod() byte { return in.modrm >> 6 }

// ext is the opcode extension in ModRM.reg.
func (in *insn) ext() byte { return in.modrm >> 3 & 7 }

// ripRel reports whether the memory operand is relative to the next
// instruction's address.
func (in *insn) ripRel() bool {
	return in.hasModRM && in.modrm&0xc7 == 0x05
}

// reader walks over code.
type reader struct {
	code []byte
	pos  int
}

func (d *reader) peek() (byte, bool) {
	if d.pos >= len(d.code) || d.pos >= maxLen {
		return 0, false
	}
	return d.code[d.pos], true
}

func (d *reader) byte() (byte, error) {
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
func (d *reader) signed(n int) (int64, error) {
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
	shift := 64 - 8*n
	return int64(v<<shift) >> shift, nil
}

// maxLen is the longest instruction a processor accepts.
const maxLen = 15

// decode finds the shape of the instruction at the start of code.
func decode(code []byte) (insn, error) {
	in := insn{extPos: -1}
	d := &reader{code: code}
	if err := in.opcode(d); err != nil {
		return in, err
	}
	if in.unknown {
		return in, nil
	}
	if err := in.operands(d); err != nil {
		return in, err
	}
	in.code = code[:d.pos]
	return in, nil
}

// opcode reads prefixes and opcode bytes.
func (in *insn) opcode(d *reader) error {
	c, err := in.prefixes(d)
	if err != nil {
		return err
	}
	switch c {
	case 0xc4, 0xc5, 0x62:
		return in.vector(d, c)
	case 0x8f:
		if next, ok := d.peek(); ok && next&0x38 != 0 {
			return in.vector(d, c)
		}
	case 0xd5: // REX2 of APX
		in.unknown = true
		return nil
	case 0x0f:
		return in.escape(d)
	}
	in.op = c
	return nil
}

// prefixes reads the legacy and REX prefixes and returns the byte after them.
func (in *insn) prefixes(d *reader) (byte, error) {
	for {
		c, err := d.byte()
		if err != nil {
			return 0, err
		}
		switch {
		case c == 0x66:
			in.opSize = true
		case c == 0x67:
			in.adSize = true
		case c == 0xf0:
			in.lock = true
		case c == 0xf2 || c == 0xf3:
			in.bothRep = in.bothRep || in.rep != 0 && in.rep != c
			in.rep = c
		case c == 0x64 || c == 0x65:
			in.seg = c
		case c == 0x26 || c == 0x2e || c == 0x36 || c == 0x3e:
			// Null prefixes, branch hints, notrack. They do not undo an
			// earlier fs or gs.
		case c&0xf0 == 0x40:
			// Only a REX right before the opcode counts.
			in.rex, in.extPos = c, d.pos-1
			if next, ok := d.peek(); ok && isPrefix(next) {
				in.rex, in.extPos = 0, -1
			}
		default:
			return c, nil
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
func (in *insn) escape(d *reader) error {
	c, err := d.byte()
	if err != nil {
		return err
	}
	in.mp, in.op = map0F, c
	if c != 0x38 && c != 0x3a {
		return nil
	}
	in.mp = map0F38
	if c == 0x3a {
		in.mp = map0F3A
	}
	in.op, err = d.byte()
	return err
}

// vector reads the payload of a VEX, EVEX or XOP prefix and the opcode byte.
// Its register bits are stored inverted; a legacy 66, F2, F3, F0 or REX before
// it makes it undefined.
func (in *insn) vector(d *reader, first byte) error {
	if in.rex != 0 || in.opSize || in.lock || in.rep != 0 {
		return errInvalid
	}
	n := 2
	switch first {
	case 0xc5:
		in.enc, n = vex, 1
	case 0xc4:
		in.enc = vex
	case 0x62:
		in.enc, n = evex, 3
	case 0x8f:
		in.enc = xop
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
		in.mp = map0F
		in.rex = ^p[0] >> 5 & rexR
		in.vvvv = ^p[0] >> 3 & 15
	} else {
		in.mp = p[0] & 0x1f
		if in.enc == evex {
			in.mp = p[0] & 7
		}
		in.rex = ^p[0]>>5&7 | p[1]>>4&rexW
		in.vvvv = ^p[1] >> 3 & 15
		in.extPos = at
	}
	if !in.vectorMap() {
		in.unknown = true
		return nil
	}
	c, err := d.byte()
	in.op = c
	return err
}

// vectorMap reports whether the format of every opcode in the map is known.
// EVEX map 4 is APX's, VEX map 7 has immediates of its own.
func (in *insn) vectorMap() bool {
	switch in.enc {
	case vex:
		return in.mp >= 1 && in.mp <= 3
	case evex:
		return in.mp >= 1 && in.mp <= 6 && in.mp != 4
	default:
		return in.mp >= 8 && in.mp <= 10
	}
}

// operands reads ModRM, SIB, displacement and immediates as the opcode's
// format demands.
func (in *insn) operands(d *reader) error {
	f := in.format()
	if f == 'x' {
		return errInvalid
	}
	if f == '?' {
		in.unknown = true
		return nil
	}
	if formatModRM(f) {
		if err := in.readModRM(d); err != nil {
			return err
		}
	}
	if f == 'r' {
		in.modrm |= 0xc0
	}
	n := in.immediate(f)
	if in.unknown {
		return nil
	}
	var err error
	in.immLen = n
	in.imm, err = d.signed(n)
	return err
}

func (in *insn) readModRM(d *reader) error {
	var err error
	in.hasModRM, in.modPos = true, d.pos
	if in.modrm, err = d.byte(); err != nil {
		return err
	}
	if in.mod() == 3 || in.format() == 'r' {
		return nil
	}
	n := 0
	switch in.mod() {
	case 1:
		n = 1
	case 2:
		n = 4
	}
	rm := in.modrm & 7
	if rm == 4 {
		in.hasSIB = true
		if in.sib, err = d.byte(); err != nil {
			return err
		}
		rm = in.sib & 7
	}
	if in.mod() == 0 && rm == 5 {
		n = 4
	}
	if n == 0 {
		return nil
	}
	in.dispPos = d.pos
	v, err := d.signed(n)
	in.disp = int32(v)
	return err
}
