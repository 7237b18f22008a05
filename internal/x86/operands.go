package x86

// mask covers w bytes.
func mask(w uint8) uint64 { return ^uint64(0) >> (64 - 8*w) }

// extend extends the sign of a value of w bytes.
func extend(v uint64, w uint8) int64 {
	s := 64 - 8*w
	return int64(v<<s) >> s
}

// value returns an operand, from memory too.
func (p *Plan) value(r *Regs, m Memory, a arg) (uint64, error) {
	if a.kind == argMem {
		return p.load(m, p.act.ea.linear(r), a.w)
	}
	return p.regValue(r, a), nil
}

// regValue returns a register or immediate operand.
func (p *Plan) regValue(r *Regs, a arg) uint64 {
	switch a.kind {
	case argReg:
		return *r.gpr(a.n) & mask(a.w)
	case argHigh:
		return *r.gpr(a.n) >> 8 & 0xff
	case argImm:
		return p.act.imm & mask(a.w)
	}
	return 0
}

// setReg writes a register operand: 32 bits clear the upper half, 8 and 16
// bits leave the rest.
func setReg(r *Regs, a arg, v uint64) {
	x := r.gpr(a.n)
	switch {
	case a.kind == argHigh:
		*x = *x&^0xff00 | v&0xff<<8
	case a.w >= 4:
		*x = v & mask(a.w)
	default:
		*x = *x&^mask(a.w) | v&mask(a.w)
	}
}
