package x86

// The formats of the opcode maps, one letter for each opcode:
//
//	.  no operand bytes        m  ModRM             r  ModRM that is always registers
//	b  imm8                    B  ModRM, imm8       w  imm16
//	z  imm16 or imm32 by 66    Z  ModRM and that    v  the same, imm64 with REX.W
//	o  a full address          e  imm16, imm8       j  rel32 (rel16 with 66 on some processors)
//	3  F6: imm8 only for test  4  F7: likewise      s  0F 78: immediates only with 66 or F2
//	p  prefix or escape        x  not an instruction in 64-bit mode
//	?  an instruction whose length is not the same everywhere
//
// Sources: Intel SDM volume 2 appendix A, AMD APM volume 3 appendix A.
const oneByte = "" +
	"mmmmbzxxmmmmbzxp" + // 00
	"mmmmbzxxmmmmbzxx" + // 10
	"mmmmbzpxmmmmbzpx" + // 20
	"mmmmbzpxmmmmbzpx" + // 30
	"pppppppppppppppp" + // 40
	"................" + // 50
	"xxpmppppzZbB...." + // 60
	"bbbbbbbbbbbbbbbb" + // 70
	"BZxBmmmmmmmmmmmm" + // 80
	"..........x....." + // 90
	"oooo....bz......" + // A0
	"bbbbbbbbvvvvvvvv" + // B0
	"BBw.ppBZe.w..bx." + // C0
	"mmmmxpx.mmmmmmmm" + // D0
	"bbbbbbbbjjxb...." + // E0
	"p.pp..34......mm" //   F0

const twoByte = "" +
	"mmmmx.....x.xm.B" + // 00
	"mmmmmmmmmmmmmmmm" + // 10
	"rrrrxxxxmmmmmmmm" + // 20
	"......x.pxpxxxxx" + // 30
	"mmmmmmmmmmmmmmmm" + // 40
	"mmmmmmmmmmmmmmmm" + // 50
	"mmmmmmmmmmmmmmmm" + // 60
	"BBBBmmm.smxxmmmm" + // 70
	"jjjjjjjjjjjjjjjj" + // 80
	"mmmmmmmmmmmmmmmm" + // 90
	"...mBmxx...mBmmm" + // A0
	"mmmmmmmmmmBmmmmm" + // B0
	"mmBmBBBm........" + // C0
	"mmmmmmmmmmmmmmmm" + // D0
	"mmmmmmmmmmmmmmmm" + // E0
	"mmmmmmmmmmmmmmm?" //   F0

// format returns the letter of the instruction's opcode.
func (in *inst) format() byte {
	switch {
	case in.enc == xop && in.mp == 8:
		return 'B'
	case in.enc == xop && in.mp == 10:
		return 'Z'
	case in.enc == xop:
		return 'm'
	case in.mp == map0F3A:
		return 'B'
	case in.mp >= map0F38: // 5 and 6 too
		return 'm'
	case in.enc != legacy:
		return in.vectorFormat()
	case in.mp == map0F:
		return twoByte[in.op]
	}
	return oneByte[in.op]
}

// vectorFormat returns the format in VEX and EVEX map 1. Shifts by a count,
// compares and word inserts have an immediate. vzeroupper has no operand bytes.
func (in *inst) vectorFormat() byte {
	switch in.op {
	case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
		return 'B'
	case 0x77:
		if in.enc == vex {
			return '.'
		}
	}
	return 'm'
}

// immediate returns the number of immediate bytes of format f. The ModRM byte
// has been read.
func (in *inst) immediate(f byte) (int, error) {
	full := 4
	if in.has(prefixOpSize) && !in.wide() {
		full = 2
	}
	switch f {
	case 'b', 'B':
		return 1, nil
	case 'w':
		return 2, nil
	case 'e':
		return 3, nil
	case 'z', 'Z':
		if in.enc != legacy {
			return 4, nil
		}
		return full, nil
	case 'v':
		if in.wide() {
			return 8, nil
		}
		return full, nil
	case 'o':
		if in.has(prefixAdSize) {
			return 4, nil
		}
		return 8, nil
	case 'j':
		// Intel ignores 66 here, AMD reads a rel16 and cuts rip to 16 bits;
		// with REX.W both read a rel32.
		if full == 2 {
			return 0, errUnknown
		}
		return 4, nil
	case '3', '4': // only test of group 3 has one
		switch {
		case in.ext() > 1:
			return 0, nil
		case f == '3':
			return 1, nil
		}
		return full, nil
	case 's':
		if in.has(prefixOpSize) || in.rep == 0xf2 {
			return 2, nil // extrq and insertq of SSE4a
		}
	}
	return 0, nil
}
