package unwind

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"ptools/internal/cursor"
)

// Instructions of call frame programs: DWARF 5, section 6.4.2 and 7.24, and those
// of the GNU tools. The low six bits of the first three are an operand.
const (
	cfaAdvanceLoc = 0x40
	cfaOffset     = 0x80
	cfaRestore    = 0xc0

	cfaNop              = 0x00
	cfaSetLoc           = 0x01
	cfaAdvanceLoc1      = 0x02
	cfaAdvanceLoc2      = 0x03
	cfaAdvanceLoc4      = 0x04
	cfaOffsetExtended   = 0x05
	cfaRestoreExtended  = 0x06
	cfaUndefined        = 0x07
	cfaSameValue        = 0x08
	cfaRegister         = 0x09
	cfaRememberState    = 0x0a
	cfaRestoreState     = 0x0b
	cfaDefCFA           = 0x0c
	cfaDefCFARegister   = 0x0d
	cfaDefCFAOffset     = 0x0e
	cfaDefCFAExpression = 0x0f
	cfaExpression       = 0x10
	cfaOffsetExtendedSF = 0x11
	cfaDefCFASF         = 0x12
	cfaDefCFAOffsetSF   = 0x13
	cfaValOffset        = 0x14
	cfaValOffsetSF      = 0x15
	cfaValExpression    = 0x16
	cfaMIPSAdvanceLoc8  = 0x1d
	cfaNegateRAWithPC   = 0x2c // of arm64: the return address is signed from here on, or not any more
	cfaNegateRA         = 0x2d
	cfaGNUArgsSize      = 0x2e
	cfaGNUNegOffset     = 0x2f
)

// Limits of one function's program, far beyond what compilers emit. They bound the
// memory that a corrupt or hostile file can take.
const (
	maxRows     = 1 << 14
	maxRules    = 1 << 15
	maxRemember = 64
	maxExprs    = 1 << 12
)

var errTooBig = errors.New("call frame program beyond all bounds")

// A rowState is the row being built.
type rowState struct {
	cfa  rule
	regs [columns]rule
}

// A compiler runs the call frame program of one function and collects its rows.
type compiler struct {
	cie     *cie
	base    bases
	loc     uint64 // address that the current state holds from
	state   rowState
	initial rowState
	stack   []rowState
	out     *function
	last    rowState // state of the last row in out
	inCIE   bool
}

// Lengths of call frame programs, in bytes. That of a CIE is executed for each function.
const (
	maxCIE     = 4 << 10
	maxProgram = 1 << 20
)

// compile turns an FDE into rows.
func compile(f *fde, b bases) (*function, error) {
	if f.end-f.start > math.MaxUint32 || len(f.cie.program) > maxCIE || len(f.program) > maxProgram {
		return nil, errTooBig
	}
	c := compiler{cie: f.cie, base: b, loc: f.start,
		out: &function{start: f.start, end: f.end, signal: f.cie.signal}}
	c.base.function = f.start
	c.inCIE = true
	if err := c.run(f.cie.program, 0); err != nil {
		return nil, err
	}
	c.inCIE = false
	c.initial = c.state
	if err := c.run(f.program, f.addr); err != nil {
		return nil, err
	}
	if err := c.emit(); err != nil {
		return nil, err
	}
	c.out.rows = slices.Clip(c.out.rows)
	c.out.saved = slices.Clip(c.out.saved)
	return c.out, nil
}

// run executes one program.
func (c *compiler) run(program []byte, addr uint64) error {
	p := cursor.Cursor{B: program, Addr: addr}
	for p.Remaining() > 0 {
		if err := c.instruction(&p); err != nil {
			return err
		}
		if p.Bad {
			return errCorrupt
		}
	}
	return nil
}

// instruction executes the instruction at p.
func (c *compiler) instruction(p *cursor.Cursor) error {
	op := p.U8()
	low := uint64(op & 0x3f)
	switch op & 0xc0 {
	case cfaAdvanceLoc:
		return c.advance(low)
	case cfaOffset:
		return c.offset(low, int64(p.Uleb()), ruleOffset)
	case cfaRestore:
		c.restore(low)
		return nil
	}
	switch op {
	case cfaNop, cfaNegateRA, cfaNegateRAWithPC: // signed or not, a signature is removed
		return nil
	case cfaSetLoc, cfaAdvanceLoc1, cfaAdvanceLoc2, cfaAdvanceLoc4, cfaMIPSAdvanceLoc8:
		return c.move(op, p)
	case cfaRememberState:
		if len(c.stack) == maxRemember {
			return errTooBig
		}
		c.stack = append(c.stack, c.state)
		return nil
	case cfaRestoreState:
		if len(c.stack) == 0 {
			return errCorrupt
		}
		c.state = c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		return nil
	case cfaGNUArgsSize:
		p.Uleb() // size of the callee's arguments: only exceptions need it
		return nil
	case cfaDefCFA, cfaDefCFASF, cfaDefCFARegister, cfaDefCFAOffset, cfaDefCFAOffsetSF, cfaDefCFAExpression:
		return c.define(op, p)
	}
	return c.register(op, p)
}

// move executes the instructions that begin a new row.
func (c *compiler) move(op uint8, p *cursor.Cursor) error {
	switch op {
	case cfaSetLoc:
		to := pointer(p, c.cie.fdeEnc, c.base)
		if p.Bad || to < c.loc || to > c.out.end {
			return errCorrupt
		}
		return c.moveTo(to)
	case cfaAdvanceLoc1:
		return c.advance(uint64(p.U8()))
	case cfaAdvanceLoc2:
		return c.advance(uint64(p.U16()))
	case cfaAdvanceLoc4:
		return c.advance(uint64(p.U32()))
	}
	return c.advance(p.U64())
}

func (c *compiler) advance(units uint64) error {
	n := units * c.cie.codeAlign
	if n > math.MaxUint32 {
		return errCorrupt
	}
	return c.moveTo(c.loc + n)
}

func (c *compiler) moveTo(loc uint64) error {
	if c.inCIE {
		return errCorrupt
	}
	if loc != c.loc {
		if err := c.emit(); err != nil {
			return err
		}
	}
	c.loc = loc
	return nil
}

// define executes the instructions that say what the CFA is.
func (c *compiler) define(op uint8, p *cursor.Cursor) error {
	reg, off := uint64(c.state.cfa.reg), int64(c.state.cfa.val)
	switch op {
	case cfaDefCFA:
		reg, off = p.Uleb(), int64(p.Uleb())
	case cfaDefCFASF:
		reg, off = p.Uleb(), p.Sleb()*c.cie.dataAlign
	case cfaDefCFAExpression:
		return c.expression(&c.state.cfa, ruleValExpr, p)
	default:
		if c.state.cfa.kind != ruleRegister {
			return errCorrupt // changes one half of a CFA rule that is not there
		}
		switch op {
		case cfaDefCFARegister:
			reg = p.Uleb()
		case cfaDefCFAOffset:
			off = int64(p.Uleb())
		case cfaDefCFAOffsetSF:
			off = p.Sleb() * c.cie.dataAlign
		}
	}
	if reg >= columns || off != int64(int32(off)) {
		return errCorrupt
	}
	c.state.cfa = rule{kind: ruleRegister, reg: uint8(reg), val: int32(off)}
	return nil
}

// register executes the instructions that say where a register of the caller is.
func (c *compiler) register(op uint8, p *cursor.Cursor) error {
	reg := p.Uleb()
	switch op {
	case cfaOffsetExtended:
		return c.offset(reg, int64(p.Uleb()), ruleOffset)
	case cfaOffsetExtendedSF:
		return c.offset(reg, p.Sleb(), ruleOffset)
	case cfaGNUNegOffset:
		return c.offset(reg, -int64(p.Uleb()), ruleOffset)
	case cfaValOffset:
		return c.offset(reg, int64(p.Uleb()), ruleValOffset)
	case cfaValOffsetSF:
		return c.offset(reg, p.Sleb(), ruleValOffset)
	case cfaRestoreExtended:
		c.restore(reg)
		return nil
	case cfaUndefined:
		c.set(reg, rule{kind: ruleUndefined})
		return nil
	case cfaSameValue:
		c.set(reg, rule{})
		return nil
	case cfaRegister:
		from := p.Uleb()
		if from >= columns {
			c.set(reg, rule{kind: ruleUndefined}) // kept in a register that is not recorded
			return nil
		}
		c.set(reg, rule{kind: ruleRegister, reg: uint8(from)})
		return nil
	case cfaExpression, cfaValExpression:
		kind := ruleExpr
		if op == cfaValExpression {
			kind = ruleValExpr
		}
		var r rule
		if err := c.expression(&r, kind, p); err != nil {
			return err
		}
		c.set(reg, r)
		return nil
	}
	return fmt.Errorf("call frame instruction %#02x", op)
}

func (c *compiler) set(reg uint64, r rule) {
	if col, ok := c.column(reg); ok {
		c.state.regs[col] = r
	}
}

func (c *compiler) restore(reg uint64) {
	if col, ok := c.column(reg); ok {
		c.state.regs[col] = c.initial.regs[col]
	}
}

// offset sets a rule with a factored offset from the CFA.
func (c *compiler) offset(reg uint64, units int64, kind ruleKind) error {
	off := units * c.cie.dataAlign
	if off != int64(int32(off)) {
		return errCorrupt
	}
	c.set(reg, rule{kind: kind, val: int32(off)})
	return nil
}

// expression reads a block and makes r a rule that evaluates it.
func (c *compiler) expression(r *rule, kind ruleKind, p *cursor.Cursor) error {
	b := p.Bytes(p.Uleb())
	if p.Bad {
		return errCorrupt
	}
	if len(c.out.exprs) == maxExprs {
		return errTooBig
	}
	*r = rule{kind: kind, val: int32(len(c.out.exprs))}
	c.out.exprs = append(c.out.exprs, b)
	return nil
}

// emit appends the state as the row that begins at loc, unless it is the same
// as in the row before. Addresses beyond the end of the function have no row.
func (c *compiler) emit() error {
	o := c.out
	if c.loc >= o.end || len(o.rows) > 0 && c.state == c.last {
		return nil
	}
	if len(o.rows) == maxRows {
		return errTooBig
	}
	r := row{start: uint32(c.loc - o.start), cfa: c.state.cfa}
	if n := len(o.rows); n > 0 && c.state.regs == c.last.regs {
		r.first, r.count = o.rows[n-1].first, o.rows[n-1].count
	} else {
		if len(o.saved) > maxRules {
			return errTooBig
		}
		r.first = uint16(len(o.saved))
		for col, s := range c.state.regs {
			if s != (rule{}) {
				o.saved = append(o.saved, saved{uint8(col), s})
			}
		}
		r.count = uint8(len(o.saved) - int(r.first))
	}
	o.rows = append(o.rows, r)
	c.last = c.state
	return nil
}
