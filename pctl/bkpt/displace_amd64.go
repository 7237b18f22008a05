package bkpt

import (
	"encoding/binary"
	"errors"
	"math"

	"ptools/internal/ptrace"
)

// SlotSize is the size and alignment of a scratch slot: the longest instruction
// and a jump back fit.
const SlotSize = 32

const (
	jumpOp  = 0xe9 // jmp rel32
	jumpLen = 5
)

// ErrNotDisplaceable is the error for a copy of an instruction that can only
// run in its own place.
var ErrNotDisplaceable = errors.New("instruction cannot run elsewhere")

// near returns the displacement from one address to another if it fits rel32.
func near(from, to uint64) (int32, bool) {
	d := int64(to - from)
	return int32(d), d >= math.MinInt32 && d <= math.MaxInt32
}

// operandNear returns the displacement of the RIP-relative operand as seen
// from a copy in slot.
func (p *Plan) operandNear(slot uint64) (int32, bool) {
	return near(slot+uint64(p.length), p.next+uint64(int64(p.disp)))
}

// needScratch reports that a copy in slot cannot reach the operand relative to
// itself.
func (p *Plan) needScratch(slot uint64) bool {
	if !p.ripRel {
		return false
	}
	_, ok := p.operandNear(slot)
	return !ok
}

// Displaced returns the copy of the instruction for a slot of the target's
// memory. The relative branches keep their displacement: Leave corrects where
// they went.
func (p *Plan) Displaced(slot uint64) (Copy, error) {
	if p.class == fixed {
		return Copy{}, ErrNotDisplaceable
	}
	c := Copy{Code: make([]byte, 0, SlotSize), Scratch: -1}
	c.Code = append(c.Code, p.code[:p.length]...)
	if p.ripRel {
		d, ok := p.operandNear(slot)
		if !ok {
			d = 0
			c.Scratch = int(p.scratch)
			// The register takes the place of rip: mod 2, rm the register.
			c.Code[p.modPos] = c.Code[p.modPos]&0x38 | 0x80 | p.scratch
			if p.extPos >= 0 {
				c.Code[p.extPos] = c.Code[p.extPos]&^p.extBit | p.extSet
			}
		}
		binary.LittleEndian.PutUint32(c.Code[p.dispPos:], uint32(d))
	}
	if d, ok := near(slot+uint64(p.length)+jumpLen, p.next); ok {
		c.Code = append(c.Code, jumpOp)
		c.Code = binary.LittleEndian.AppendUint32(c.Code, uint32(d))
		c.Direct = c.Scratch < 0 && (p.class == plain || p.class == jumps) && !p.IsSyscall()
	}
	return c, nil
}

// Enter moves a thread that stands at the breakpoint to the copy in slot.
func (p *Plan) Enter(r *ptrace.Regs, slot uint64) (saved Saved) {
	if p.needScratch(slot) {
		x := gpr(r, p.scratch)
		saved = Saved{reg: p.scratch, used: true, value: *x}
		*x = p.next + uint64(int64(p.disp))
	}
	r.Rip = slot
	return saved
}

// Leave moves a thread from the copy in slot back to where it would be had the
// instruction run in its own place, after a step of the copy and after any stop
// in the slot: a fault, a signal, a copy that is continued directly. It reports
// false if the instruction has not run to its end (it is about to, faulted, or
// is a repeated string instruction in the middle): the thread then stands at
// the breakpoint's address again. A call's return address is corrected through
// m.
//
// It also serves a thread that the stepped instruction has cloned, with a zero
// Saved.
func (p *Plan) Leave(r *ptrace.Regs, slot uint64, saved Saved, m Memory) (done bool) {
	if saved.used {
		*gpr(r, saved.reg) = saved.value
	}
	after := slot + uint64(p.length)
	switch r.Rip {
	case slot:
		r.Rip = p.addr
		if p.class == calls || p.class == relCalls {
			p.fixFaulted(r, after, m)
		}
		return false
	case after:
		r.Rip = p.next
		if p.class == syscalls && r.Rcx == after {
			// Not sigreturn, which would have restored another rip, nor a processor with
			// FRED, whose system calls leave both registers alone.
			r.Rcx = p.next
			r.R11 &^= flagTF // of the single step
		}
		if p.class == relCalls { // to the next instruction
			p.fixReturn(r.Rsp, m)
		}
		return true
	}
	switch p.class {
	case branches, relCalls:
		r.Rip += p.addr - slot
	}
	if p.class == calls || p.class == relCalls {
		p.fixReturn(r.Rsp, m)
	}
	return true
}

// fixFaulted corrects what a copied call that has faulted may have left below the
// stack pointer. A call to a non-canonical address faults before it writes its return
// address on AMD's processors, after that on Intel's (TestFaultingCall). The slot's
// address, after, is there only in the second case: no copy leaves it behind.
func (p *Plan) fixFaulted(r *ptrace.Regs, after uint64, m Memory) {
	n, _ := m.ReadAt(p.buf[:], int64(r.Rsp-8))
	if n == len(p.buf) && binary.LittleEndian.Uint64(p.buf[:]) == after {
		p.fixReturn(r.Rsp-8, m)
	}
}

// fixReturn corrects the return address at sp that a copied call has just written. The
// slot could be returned to, it ends in a jump, but the program can look.
func (p *Plan) fixReturn(sp uint64, m Memory) {
	binary.LittleEndian.PutUint64(p.buf[:], p.next)
	// The page was written a moment ago. If it has been unmapped since, the
	// program faults on it as it would have.
	_, _ = m.WriteAt(p.buf[:], int64(sp))
}
