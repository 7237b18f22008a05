package unwind

import "ptools/internal/cursor"

// DWARF expression operations (DWARF 5, section 7.7.1) that can occur in call frame
// information: section 6.4.2 leaves out those that need a frame, a CFA or an entry.
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opLit31      = 0x4f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

// Bounds of an expression's evaluation. Real ones have a dozen operations.
const (
	maxExprStack = 64
	maxExprSteps = 1024
)

// A machine is the state of the target that expressions read.
type machine interface {
	register(column uint8) (uint64, bool)
	word(addr uint64) (uint64, bool)
}

// An evaluator runs DWARF expressions. It is reused, so that runs do not
// allocate.
type evaluator struct {
	stack [maxExprStack]uint64
	n     int
	bad   bool
}

func (e *evaluator) push(v uint64) {
	if e.n == maxExprStack {
		e.bad = true
		return
	}
	e.stack[e.n] = v
	e.n++
}

func (e *evaluator) pop() uint64 {
	if e.n == 0 {
		e.bad = true
		return 0
	}
	e.n--
	return e.stack[e.n]
}

// pick returns the i-th entry below the top.
func (e *evaluator) pick(i int) uint64 {
	if i >= e.n {
		e.bad = true
		return 0
	}
	return e.stack[e.n-1-i]
}

// eval runs an expression, with the CFA on the stack if cfa is not nil, and
// returns the top of the stack. bias is the load bias of the addresses of opAddr.
func (e *evaluator) eval(expr []byte, m machine, bias uint64, cfa *uint64) (uint64, End) {
	e.n, e.bad = 0, false
	if cfa != nil {
		e.push(*cfa)
	}
	c := cursor.Cursor{B: expr}
	for steps := 0; c.Remaining() > 0; steps++ {
		if steps == maxExprSteps {
			return 0, BadRule
		}
		if end := e.step(&c, m, bias); end != 0 {
			return 0, end
		}
		if e.bad || c.Bad {
			return 0, BadRule
		}
	}
	v := e.pop()
	if e.bad {
		return 0, BadRule
	}
	return v, 0
}

// step executes one operation.
func (e *evaluator) step(c *cursor.Cursor, m machine, bias uint64) End {
	op := c.U8()
	switch {
	case op >= opLit0 && op <= opLit31:
		e.push(uint64(op - opLit0))
		return 0
	case op >= opBreg0 && op <= opBreg31:
		return e.breg(uint64(op-opBreg0), c.Sleb(), m)
	case op >= opConst1u && op <= opConsts:
		e.push(constant(op, c))
		return 0
	case int(op) < len(binaryOps) && binaryOps[op] != nil:
		b, a := e.pop(), e.pop()
		if e.bad || b == 0 && (op == opDiv || op == opMod) {
			return BadRule
		}
		e.push(binaryOps[op](a, b))
		return 0
	}
	switch op {
	case opAddr:
		e.push(c.U64() + bias)
	case opDeref, opDerefSize:
		size := uint8(8)
		if op == opDerefSize {
			size = c.U8()
		}
		return e.deref(size, m)
	case opBregx:
		reg := c.Uleb()
		return e.breg(reg, c.Sleb(), m)
	case opAbs:
		v := e.pop()
		if int64(v) < 0 {
			v = -v
		}
		e.push(v)
	case opNeg:
		e.push(-e.pop())
	case opNot:
		e.push(^e.pop())
	case opPlusUconst:
		e.push(e.pop() + c.Uleb())
	case opDup:
		e.push(e.pick(0))
	case opDrop:
		e.pop()
	case opOver:
		e.push(e.pick(1))
	case opPick:
		e.push(e.pick(int(c.U8())))
	case opSwap:
		a, b := e.pop(), e.pop()
		e.push(a)
		e.push(b)
	case opRot:
		a, b, d := e.pop(), e.pop(), e.pop()
		e.push(a)
		e.push(d)
		e.push(b)
	case opSkip, opBra:
		by := int(int16(c.U16()))
		if op == opSkip || e.pop() != 0 {
			e.jump(c, by)
		}
	case opNop:
	default:
		e.bad = true
	}
	return 0
}

func (e *evaluator) jump(c *cursor.Cursor, by int) {
	to := int(c.Off) + by
	if to < 0 || to > len(c.B) {
		e.bad = true
		return
	}
	c.Off = uint64(to)
}

func (e *evaluator) breg(reg uint64, off int64, m machine) End {
	if reg >= columns {
		return BadRule
	}
	v, ok := m.register(uint8(reg))
	if !ok {
		return NoRegister
	}
	e.push(v + uint64(off))
	return 0
}

// deref replaces the address on top by the size bytes at it. It reads eight bytes
// and keeps the low ones, unless that would needlessly read beyond the end of a
// page.
func (e *evaluator) deref(size uint8, m machine) End {
	if size == 0 || size > 8 {
		return BadRule
	}
	addr := e.pop()
	if e.bad {
		return BadRule
	}
	shift := uint(8 * (8 - size))
	if back := addr - uint64(8-size); addr&0xfff > 0xff8 {
		v, ok := m.word(back) // the wanted bytes are the high ones
		if !ok {
			return Unreadable
		}
		e.push(v >> shift)
		return 0
	}
	v, ok := m.word(addr)
	if !ok {
		return Unreadable
	}
	e.push(v << shift >> shift)
	return 0
}

// constant reads the operand of the operations that push one: of 1, 2, 4 and 8 bytes, then LEB128, each
// unsigned and signed.
func constant(op uint8, c *cursor.Cursor) uint64 {
	switch op {
	case opConstu:
		return c.Uleb()
	case opConsts:
		return uint64(c.Sleb())
	}
	size := uint64(1) << ((op - opConst1u) / 2)
	v := c.Uint(size)
	if unused := 64 - 8*size; (op-opConst1u)%2 == 1 {
		v = uint64(int64(v<<unused) >> unused)
	}
	return v
}

// binaryOps are the operations that replace the two topmost entries, b above a.
var binaryOps = [...]func(a, b uint64) uint64{
	opAnd:   func(a, b uint64) uint64 { return a & b },
	opOr:    func(a, b uint64) uint64 { return a | b },
	opXor:   func(a, b uint64) uint64 { return a ^ b },
	opPlus:  func(a, b uint64) uint64 { return a + b },
	opMinus: func(a, b uint64) uint64 { return a - b },
	opMul:   func(a, b uint64) uint64 { return a * b },
	opDiv:   func(a, b uint64) uint64 { return uint64(int64(a) / int64(b)) },
	opMod:   func(a, b uint64) uint64 { return a % b },
	opShl:   func(a, b uint64) uint64 { return a << b }, // by 64 and more: zero, as in Go
	opShr:   func(a, b uint64) uint64 { return a >> b },
	opShra:  func(a, b uint64) uint64 { return uint64(int64(a) >> b) },

	// On signed numbers.
	opEq: func(a, b uint64) uint64 { return truth(a == b) },
	opNe: func(a, b uint64) uint64 { return truth(a != b) },
	opGe: func(a, b uint64) uint64 { return truth(int64(a) >= int64(b)) },
	opGt: func(a, b uint64) uint64 { return truth(int64(a) > int64(b)) },
	opLe: func(a, b uint64) uint64 { return truth(int64(a) <= int64(b)) },
	opLt: func(a, b uint64) uint64 { return truth(int64(a) < int64(b)) },
}

func truth(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
