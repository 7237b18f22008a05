package x86

import (
	"encoding/binary"
	"errors"
	"math"
)

// SlotSize is the size and alignment of a scratch slot: the longest instruction
// and a jump back fit.
const SlotSize = 32

const (
	nopOp   = 0x90
	jumpOp  = 0xe9 // jmp rel32
	jumpLen = 5
)

// ErrNotDisplaceable is the error for a copy of an instruction that can only
// run in its own place.
var ErrNotDisplaceable = errors.New("instruction cannot run elsewhere")

// A Copy is an instruction made ready to run in a scratch slot.
type Copy struct {
	// Code is what the slot holds, SlotSize bytes at most. After the
	// instruction comes a jump to the instruction that follows the
	// original, if that is within reach, and otherwise a nop.
	Code []byte
	// Direct: the thread may simply be continued in the slot, and comes back
	// by itself. Calls, relative branches, system calls, copies with a scratch
	// register, and copies whose jump does not reach are not direct. They are
	// single-stepped, and Exit corrects the registers.
	Direct bool
	// Scratch is the register that holds the address of the operand, in the
	// processor's numbering; -1 if none is needed.
	Scratch int
}

// Saved is what Enter has changed and Exit has to restore. It is kept per thread,
// from Enter to Exit.
type Saved struct {
	reg   uint8
	used  bool
	value uint64
}

// relative is a RIP-relative operand, with what is needed to encode it anew.
type relative struct {
	dispPos int // 0: there is none
	disp    int32
	modPos  int
	extPos  int
	extBit  byte // the bit of code[extPos] that extends ModRM.rm
	extSet  byte // the value of that bit when the extension is off
	scratch uint8
}

// relative returns the RIP-relative operand.
func (in *inst) relative() relative {
	if !in.ripRel() {
		return relative{}
	}
	r := relative{dispPos: in.dispPos, disp: in.disp, modPos: in.modPos, extPos: in.extPos, extBit: rexB, scratch: in.scratchReg()}
	if in.enc != legacy {
		r.extBit, r.extSet = 1<<5, 1<<5 // stored inverted
	}
	return r
}

// scratchReg chooses a register that the instruction does not use. If ModRM has a
// memory operand, registers are named by ModRM.reg and vvvv only. Of rsi, rdi and
// rbx only rbx is also used implicitly, by cmpxchg16b. There ModRM.reg is no
// register, so that rsi is free.
func (in *inst) scratchReg() uint8 {
	reg := in.ext() | in.rex&rexR<<1
	for _, n := range [...]uint8{rsi, rdi} {
		if n != reg && n != in.vvvv {
			return n
		}
	}
	return rbx
}

// near returns the displacement from one address to another if it fits rel32.
func near(from, to uint64) (int32, bool) {
	d := int64(to - from)
	return int32(d), d >= math.MinInt32 && d <= math.MaxInt32
}

// target is the address of the RIP-relative operand.
func (p *Plan) target() uint64 { return p.next + uint64(int64(p.rel.disp)) }

// targetNear returns the operand's displacement from a copy in slot. ok is false if the operand is
// out of reach of a RIP-relative copy.
func (p *Plan) targetNear(slot uint64) (disp int32, ok bool) {
	return near(slot+uint64(p.length), p.target())
}

// Displaced returns the copy of the instruction for a slot of the target's
// memory. Relative branches keep their displacement: Exit corrects the address
// that they lead to.
func (p *Plan) Displaced(slot uint64) (Copy, error) {
	if p.class == fixed {
		return Copy{}, ErrNotDisplaceable
	}
	c := Copy{Code: make([]byte, 0, SlotSize), Scratch: -1}
	c.Code = append(c.Code, p.code[:p.length]...)
	if r := &p.rel; r.dispPos > 0 {
		d, ok := p.targetNear(slot)
		if !ok {
			d = 0
			c.Scratch = int(r.scratch)
			// The register takes the place of rip: mod 2, rm the register.
			c.Code[r.modPos] = c.Code[r.modPos]&0x38 | 0x80 | r.scratch
			if r.extPos >= 0 {
				c.Code[r.extPos] = c.Code[r.extPos]&^r.extBit | r.extSet
			}
		}
		binary.LittleEndian.PutUint32(c.Code[r.dispPos:], uint32(d))
	}
	if d, ok := near(slot+uint64(p.length)+jumpLen, p.next); ok {
		c.Code = append(c.Code, jumpOp)
		c.Code = binary.LittleEndian.AppendUint32(c.Code, uint32(d))
		c.Direct = c.Scratch < 0 && (p.class == plain || p.class == jumps) && !p.system
	} else if p.class == plain {
		c.Code = append(c.Code, nopOp) // see Exit
	}
	return c, nil
}

// Enter moves a thread that is at the breakpoint to the copy in slot.
func (p *Plan) Enter(r *Regs, slot uint64) (saved Saved) {
	if p.rel.dispPos > 0 {
		if _, ok := p.targetNear(slot); !ok {
			x := r.gpr(p.rel.scratch)
			saved = Saved{reg: p.rel.scratch, used: true, value: *x}
			*x = p.target()
		}
	}
	r.Rip = slot
	return saved
}

// Exit moves a thread from the copy in slot to where it would be if the
// instruction had run in its own place. It is called after a step of the copy,
// and after any stop in the slot: a fault, a signal, a copy that is continued
// directly. It reports false if the instruction has not run to its end: it is
// about to run, has faulted, or is a repeated string instruction in the middle.
// The thread is at the breakpoint's address again then. A call's return address
// is corrected through m.
//
// It also moves a thread that the stepped instruction has cloned, with a zero
// Saved.
func (p *Plan) Exit(r *Regs, slot uint64, saved Saved, m Memory) (done bool) {
	if saved.used {
		*r.gpr(saved.reg) = saved.value
	}
	after := slot + uint64(p.length)
	if p.class == plain && r.Rip == after+1 {
		// A hypervisor that emulates the instruction (cpuid) may forget the step: the trap comes behind the nop.
		r.Rip = after
	}
	switch r.Rip {
	case slot:
		r.Rip = p.addr
		if p.class.calls() {
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
	if p.class == branches || p.class == relCalls {
		r.Rip += p.addr - slot
	}
	if p.class.calls() {
		p.fixReturn(r.Rsp, m)
	}
	return true
}

// fixFaulted corrects the return address that a copied call that has faulted may have
// left below the stack pointer. A call to a non-canonical address faults before it writes
// its return address on AMD's processors, and after that on Intel's (TestFaultingCall).
// The address after, in the slot, is there only in the second case: no other copy leaves
// it there.
func (p *Plan) fixFaulted(r *Regs, after uint64, m Memory) {
	n, _ := m.ReadAt(p.buf[:], int64(r.Rsp-8))
	if n == len(p.buf) && binary.LittleEndian.Uint64(p.buf[:]) == after {
		p.fixReturn(r.Rsp-8, m)
	}
}

// fixReturn corrects the return address at sp that a copied call has just written. A return
// to the slot would work, as it ends in a jump, but the program can see the address.
func (p *Plan) fixReturn(sp uint64, m Memory) {
	binary.LittleEndian.PutUint64(p.buf[:], p.next)
	// The page was written a moment ago. If it has been unmapped since, the
	// program faults on it as it would have.
	_, _ = m.WriteAt(p.buf[:], int64(sp))
}
