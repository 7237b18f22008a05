package x86

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"syscall"
)

// Memory is what the instruction of a target reads and writes, at the target's own
// addresses (as int64 two's complement).
type Memory interface {
	io.ReaderAt
	io.WriterAt
}

// errDecline says that the instruction must be run by the processor after all.
var errDecline = errors.New("cannot be emulated now")

// userTop is the end of the addresses that user code has with four-level page
// tables. Whatever lies above is left to the processor.
const userTop = 1 << 47

const pageSize = 4096

// Emulate does to r and to the target's memory what the instruction would do.
// r.Rip must be the breakpoint's address. Emulate reports false, and has changed
// nothing, if the processor must run the instruction: the memory operand cannot
// be accessed, the branch target is not an address of user space, the program
// single-steps itself, or alignment checks are on. The error is not nil only if
// the process is gone.
//
// m must fail where an access of the target itself would fault. So it must not
// use /proc/PID/mem, which writes to read-only pages and reads guard pages
// (process_vm_readv(2) and process_vm_writev(2) fail like the target).
//
// Emulate does not allocate, and makes at most one access to memory except for
// calls and pushes of a memory operand, which make two.
func (p *Plan) Emulate(r *Regs, m Memory) (ok bool, err error) {
	if p.kind != Emulate || r.Eflags&(flagTF|flagAC) != 0 {
		return false, nil
	}
	switch err := p.run(r, m); {
	case err == nil:
		r.Eflags &^= flagRF // every finished instruction clears it
		return true, nil
	case errors.Is(err, syscall.ESRCH):
		return false, err
	}
	return false, nil
}

func (p *Plan) run(r *Regs, m Memory) error {
	a := &p.act
	switch a.op {
	case opNop:
		r.Rip = p.next
		return nil
	case opPush, opPop, opPushf, opPopf, opLeave:
		return p.runStack(r, m)
	case opCall, opJmp, opJcc, opLoop, opRet:
		return p.runBranch(r, m)
	case opMove, opMoveSX, opCmov:
		return p.runMove(r, m)
	case opALU, opTest, opInc, opDec, opNeg:
		return p.runArith(r, m)
	}
	d := p.regValue(r, a.dst)
	switch a.op {
	case opLea:
		d = a.ea.offset(r)
	case opNot:
		d = ^d
	case opSignOut:
		d = uint64(extend(p.regValue(r, a.src), a.src.w) >> 63)
	case opXchg:
		s := p.regValue(r, a.src)
		setReg(r, a.src, d)
		d = s
	case opBswap:
		d = bits.ReverseBytes64(d) >> (64 - 8*a.dst.w)
	case opSetcc:
		d = 0
		if condition(a.sub, r.Eflags) {
			d = 1
		}
	case opFlag:
		r.Eflags = setFlag(a.sub, r.Eflags)
		r.Rip = p.next
		return nil
	default:
		return errDecline
	}
	setReg(r, a.dst, d)
	r.Rip = p.next
	return nil
}

// runMove runs the moves between registers, memory and immediates.
func (p *Plan) runMove(r *Regs, m Memory) error {
	a := &p.act
	v, err := p.value(r, m, a.src)
	if err != nil {
		return err
	}
	switch {
	case a.op == opMoveSX:
		v = uint64(extend(v, a.src.w))
	case a.op == opCmov && !condition(a.sub, r.Eflags):
		v = p.regValue(r, a.dst) // a 32-bit destination is still extended
	}
	if a.dst.kind == argMem {
		if err := p.store(m, a.ea.linear(r), a.dst.w, v, a.ea.onStack()); err != nil {
			return err
		}
	} else {
		setReg(r, a.dst, v)
	}
	r.Rip = p.next
	return nil
}

// runArith runs what computes flags. A memory operand is only ever read.
func (p *Plan) runArith(r *Regs, m Memory) error {
	a := &p.act
	d, err := p.value(r, m, a.dst)
	if err != nil {
		return err
	}
	var s uint64
	if a.src.kind != argNone {
		if s, err = p.value(r, m, a.src); err != nil {
			return err
		}
	}
	res, fl, keep := d, uint64(0), false
	switch a.op {
	case opTest:
		fl, keep = flagsResult(d&s, a.dst.w), true
	case opInc:
		res, fl = add(d, 1, 0, a.dst.w)
		fl = fl&^flagCF | r.Eflags&flagCF
	case opDec:
		res, fl = sub(d, 1, 0, a.dst.w)
		fl = fl&^flagCF | r.Eflags&flagCF
	case opNeg:
		res, fl = sub(0, d, 0, a.dst.w)
	case opALU:
		res, fl = alu(a.sub, d, s, r.Eflags&flagCF, a.dst.w)
		keep = a.sub == aluCmp
	}
	if !keep {
		setReg(r, a.dst, res)
	}
	r.Eflags = r.Eflags&^flagsArith | fl
	r.Rip = p.next
	return nil
}

func (p *Plan) runStack(r *Regs, m Memory) error {
	a := &p.act
	switch a.op {
	case opPush, opPushf:
		v := r.Eflags &^ (flagRF | flagVM)
		if a.op == opPush {
			var err error
			if v, err = p.value(r, m, a.src); err != nil {
				return err
			}
		}
		if err := p.store(m, r.Rsp-8, 8, v, true); err != nil {
			return err
		}
		r.Rsp -= 8
	case opPop:
		v, err := p.load(m, r.Rsp, 8)
		if err != nil {
			return err
		}
		r.Rsp += 8
		setReg(r, a.dst, v) // pop rsp: the value popped wins
	case opPopf:
		v, err := p.load(m, r.Rsp, 8)
		if err != nil {
			return err
		}
		// Only the processor can set ID, and TF and AC change what
		// the next instruction does.
		if (v^r.Eflags)&(flagTF|flagAC|flagID|flagNT) != 0 {
			return errDecline
		}
		r.Rsp += 8
		r.Eflags = r.Eflags&^flagsUser | v&flagsUser
	case opLeave:
		v, err := p.load(m, r.Rbp, 8)
		if err != nil {
			return err
		}
		r.Rsp, r.Rbp = r.Rbp+8, v
	}
	r.Rip = p.next
	return nil
}

func (p *Plan) runBranch(r *Regs, m Memory) error {
	a := &p.act
	to, sp := a.imm, r.Rsp
	var err error
	switch a.op {
	case opJcc:
		if !condition(a.sub, r.Eflags) {
			to = p.next
		}
	case opLoop:
		return p.runLoop(r)
	case opRet:
		if to, err = p.load(m, sp, 8); err != nil {
			return err
		}
		sp += 8 + a.imm
	default:
		if a.src.kind != argNone {
			if to, err = p.value(r, m, a.src); err != nil {
				return err
			}
		}
	}
	if to >= userTop {
		return errDecline // a fault, at the branch or at its target
	}
	if a.op == opCall {
		sp -= 8
		if err := p.store(m, sp, 8, p.next, true); err != nil {
			return err
		}
	}
	r.Rsp, r.Rip = sp, to
	return nil
}

// runLoop runs loopne, loope, loop and jrcxz, numbered 0 to 3.
func (p *Plan) runLoop(r *Regs) error {
	n, taken := r.Rcx-1, r.Rcx != 1
	switch p.act.sub {
	case 0:
		taken = taken && r.Eflags&flagZF == 0
	case 1:
		taken = taken && r.Eflags&flagZF != 0
	case 3:
		n, taken = r.Rcx, r.Rcx == 0
	}
	to := p.next
	if taken {
		to = p.act.imm
	}
	if to >= userTop {
		return errDecline
	}
	r.Rcx, r.Rip = n, to
	return nil
}

// load reads w bytes. Where possible it reads the whole aligned word around
// them, which the kernel copies in one piece.
func (p *Plan) load(m Memory, addr uint64, w uint8) (uint64, error) {
	if addr >= userTop {
		return 0, errDecline
	}
	word, skip := addr&^7, uint8(addr&7)
	b := p.buf[:]
	if skip+w > 8 {
		word, skip, b = addr, 0, b[:w]
	}
	n, err := m.ReadAt(b, int64(word))
	if n < len(b) {
		if err == nil {
			err = errDecline
		}
		return 0, err
	}
	clear(p.buf[n:])
	return binary.LittleEndian.Uint64(p.buf[:]) >> (8 * skip) & mask(w), nil
}

// store writes w bytes, all or none: it never writes over the end of a page. The
// bytes must be an aligned word (see storable), unless they are the thread's own.
func (p *Plan) store(m Memory, addr uint64, w uint8, v uint64, own bool) error {
	if addr >= userTop || addr%pageSize > pageSize-uint64(w) || !own && addr%8 != 0 {
		return errDecline
	}
	binary.LittleEndian.PutUint64(p.buf[:], v)
	n, err := m.WriteAt(p.buf[:w], int64(addr))
	if n < int(w) && err == nil {
		err = errDecline
	}
	return err
}
