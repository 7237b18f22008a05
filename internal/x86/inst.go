package x86

import "golang.org/x/arch/x86/x86asm"

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

// prefixes is the set of the prefixes without a value. Segment, repeat and REX
// prefixes have fields of their own.
type prefixes uint8

const (
	prefixOpSize  prefixes = 1 << iota // 66
	prefixAdSize                       // 67
	prefixLock                         // F0
	prefixBothRep                      // F2 and F3: the last one counts on the processors seen, but no manual says so
)

// REX bits.
const (
	rexB = 1 << iota
	rexX
	rexR
	rexW
)

// inst is the shape of one instruction: where its parts are and what its
// prefixes say, but not what it does. A copy at another address needs that much.
// The shape is known also for encodings that x86asm does not know yet.
type inst struct {
	code []byte // exactly the instruction's bytes
	enc  encoding
	mp   uint8 // opcode map
	op   byte

	prefixes prefixes
	rep      byte  // last of F2, F3; 0 if none
	seg      byte  // 64 or 65; the other segment prefixes mean nothing in 64-bit mode
	rex      byte  // 0 if none; for VEX and EVEX the same bits W R X B, not inverted
	vvvv     uint8 // second source register of VEX and EVEX, not inverted; 0 otherwise
	extPos   int   // offset of the byte that holds the B bit (REX, VEX or EVEX payload), -1 if none

	operand
	imm int64
}

// operand is ModRM with its SIB and displacement.
type operand struct {
	modPos  int // offset of ModRM, 0 if none
	modrm   byte
	sib     byte
	disp    int32
	dispPos int // offset of the displacement, 0 if none
}

func (o *operand) mod() byte { return o.modrm >> 6 }

// ext is the opcode extension in ModRM.reg.
func (o *operand) ext() byte { return o.modrm >> 3 & 7 }

// inMemory reports whether there is an operand in memory.
func (o *operand) inMemory() bool { return o.modPos > 0 && o.mod() != 3 }

// hasSIB reports whether a SIB byte follows ModRM.
func (o *operand) hasSIB() bool { return o.inMemory() && o.modrm&7 == 4 }

// ripRel reports whether the memory operand is relative to the next
// instruction's address.
func (o *operand) ripRel() bool { return o.modPos > 0 && o.modrm&0xc7 == 0x05 }

// is reports whether the opcode is op of the one-byte map.
func (in *inst) is(op byte) bool { return in.enc == legacy && in.mp == mapOne && in.op == op }

// has reports whether there is a prefix.
func (in *inst) has(p prefixes) bool { return in.prefixes&p != 0 }

// wide reports whether the operand has 64 bits.
func (in *inst) wide() bool { return in.rex&rexW != 0 }

// isBranch reports whether this is a near branch of any kind.
func (in *inst) isBranch() bool {
	switch {
	case in.enc != legacy:
		return false
	case in.mp == map0F:
		return in.op&0xf0 == 0x80
	case in.mp != mapOne:
		return false
	}
	switch in.op {
	case 0xc2, 0xc3, 0xe8, 0xe9, 0xeb:
		return true
	case 0xff:
		return in.ext() == 2 || in.ext() == 4
	}
	return in.op&0xf0 == 0x70 || in.op&^3 == 0xe0
}

// isTrap reports whether this is int3, int1 or int n: a trap of the program's own.
func (in *inst) isTrap() bool {
	return in.is(0xcc) || in.is(0xf1) || in.is(0xcd) && uint8(in.imm) != 0x80
}

// isSyscall reports whether this is syscall or int 0x80.
func (in *inst) isSyscall() bool {
	return in.enc == legacy && in.mp == map0F && in.op == 0x05 || in.is(0xcd) && uint8(in.imm) == 0x80
}

// agreed reports whether x86asm finds the same length for the instruction that code begins
// with, if it knows that instruction. Two independent decoders must agree before a copy of
// it is run. The vector encodings are not compared: x86asm reads operand bytes that
// vzeroupper does not have.
func (in *inst) agreed(code []byte) bool {
	if in.enc != legacy {
		return true
	}
	x, err := x86asm.Decode(code[:min(len(code), maxLen)], 64)
	return err != nil || x.Op == 0 || x.Len == len(in.code)
}
