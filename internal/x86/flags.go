package x86

import "math/bits"

// Bits of rflags.
const (
	flagCF = 1 << 0
	flagPF = 1 << 2
	flagAF = 1 << 4
	flagZF = 1 << 6
	flagSF = 1 << 7
	flagTF = 1 << 8
	flagDF = 1 << 10
	flagOF = 1 << 11
	flagNT = 1 << 14
	flagRF = 1 << 16
	flagVM = 1 << 17
	flagAC = 1 << 18
	flagID = 1 << 21

	flagsArith = flagCF | flagPF | flagAF | flagZF | flagSF | flagOF
	flagsUser  = flagsArith | flagDF // what an emulated popf changes
)

// flagsResult are the flags that depend on the result alone: all of them for and, or, xor
// and test. AF is undefined in the manuals there; every processor clears it.
func flagsResult(v uint64, w uint8) uint64 {
	var f uint64
	if v&mask(w) == 0 {
		f |= flagZF
	}
	if v>>(8*w-1)&1 != 0 {
		f |= flagSF
	}
	if bits.OnesCount8(uint8(v))&1 == 0 {
		f |= flagPF
	}
	return f
}

// add returns a+b+carry in w bytes, and the flags.
func add(a, b, carry uint64, w uint8) (uint64, uint64) {
	v, c := bits.Add64(a, b, carry)
	if w < 8 {
		c = v >> (8 * w) & 1
	}
	v &= mask(w)
	f := flagsResult(v, w) | c | (a^b^v)&flagAF
	if (a^v)&(b^v)>>(8*w-1)&1 != 0 {
		f |= flagOF
	}
	return v, f
}

// sub returns a-b-borrow in w bytes, and the flags.
func sub(a, b, borrow uint64, w uint8) (uint64, uint64) {
	v, c := bits.Sub64(a, b, borrow)
	v &= mask(w)
	f := flagsResult(v, w) | c | (a^b^v)&flagAF
	if (a^b)&(a^v)>>(8*w-1)&1 != 0 {
		f |= flagOF
	}
	return v, f
}

// alu computes one of the eight operations of group 1.
func alu(kind uint8, a, b, carry uint64, w uint8) (uint64, uint64) {
	switch kind {
	case aluAdd:
		return add(a, b, 0, w)
	case aluAdc:
		return add(a, b, carry, w)
	case aluSbb:
		return sub(a, b, carry, w)
	case aluSub, aluCmp:
		return sub(a, b, 0, w)
	case aluOr:
		a |= b
	case aluAnd:
		a &= b
	case aluXor:
		a ^= b
	}
	return a, flagsResult(a, w)
}

// conditions has a set of flags for each of the condition codes 0, 2, 4, …: one of them must be set. Each odd code is the
// opposite of the code before it. From lessCodes on the condition also holds if the comparison was less.
var conditions = [8]uint64{flagOF, flagCF, flagZF, flagCF | flagZF, flagSF, flagPF, 0, flagZF}

const lessCodes = 12

// condition evaluates condition code cc of jcc, setcc and cmovcc.
func condition(cc uint8, f uint64) bool {
	yes := f&conditions[cc>>1] != 0 || cc >= lessCodes && less(f)
	return yes != (cc&1 != 0)
}

func less(f uint64) bool { return (f&flagSF != 0) != (f&flagOF != 0) }

// setFlag does clc, stc, cmc, cld and std.
func setFlag(opcode uint8, f uint64) uint64 {
	switch opcode {
	case 0xf5:
		return f ^ flagCF
	case 0xf8:
		return f &^ flagCF
	case 0xf9:
		return f | flagCF
	case 0xfc:
		return f &^ flagDF
	}
	return f | flagDF
}
