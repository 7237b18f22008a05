package unwind

import "encoding/binary"

// Offsets in the runtime's g and m (runtime/runtime2.go), the same since Go 1.5: in
// front of g.m are the stack bounds, two guards, and the innermost panic and defer;
// behind it g.sched begins with sp, pc and g. m begins with g0.
const (
	gM       = 48
	gSchedSP = 56
	gSchedPC = 64
	gSchedG  = 72
)

// mWords is how many words of m are searched for its current goroutine, whose offset
// depends on the version of Go.
const mWords = 64

// goM returns the m of the thread: the runtime's own structure for it.
func (u *Unwinder) goM(tls int32) (uint64, bool) {
	g, ok := u.goG(tls)
	if !ok {
		return 0, false
	}
	return u.mem.word(g + gM)
}

// goG returns the g that runs on the thread, found in thread-local storage, or else in the register that
// Go code keeps it in, if it is plausible: its m has a g0 whose m it is.
func (u *Unwinder) goG(tls int32) (uint64, bool) {
	g, ok := u.goReg, u.goReg%8 == 0
	if u.tls != 0 {
		g, ok = u.mem.word(u.tls + uint64(int64(tls)))
	}
	if !ok || g == 0 {
		return 0, false
	}
	m, ok := u.mem.word(g + gM)
	if !ok || m == 0 {
		return 0, false
	}
	g0, ok := u.mem.word(m)
	if !ok || g0 == 0 {
		return 0, false
	}
	back, ok := u.mem.word(g0 + gM)
	return g, ok && back == m
}

// goCurrent returns the user goroutine of the thread (m.curg). It is the first of
// m's pointers that leads to a g other than g0 whose m this is, and that knows
// itself in sched.g, which the signal stack's g does not.
func (u *Unwinder) goCurrent(tls int32) (uint64, bool) {
	m, ok := u.goM(tls)
	if !ok {
		return 0, false
	}
	g0, _ := u.mem.word(m)
	for i := range uint64(mWords) {
		g, ok := u.mem.word(m + 8*i)
		if !ok {
			return 0, false
		}
		if g == g0 || g&7 != 0 || g < pageSize || g >= 1<<47 {
			continue
		}
		if back, ok := u.mem.word(g + gM); !ok || back != m {
			continue
		}
		if self, ok := u.mem.word(g + gSchedG); ok && self == g {
			return g, true
		}
	}
	return 0, false
}

// goTLS returns where the runtime keeps g, relative to the thread pointer. It is -8
// in what the Go linker alone made; the C linker may put it elsewhere, and the
// functions that change stacks all load g first.
func (u *Unwinder) goTLS(p *place, f goFunction) int32 {
	const usual = -8
	n := min(f.end-f.start, codeWindow)
	code := u.readCode(&p.m, f.start+p.m.Bias, int(n))
	for i := 0; i+9 <= len(code); i++ {
		// mov %fs:disp32,%reg
		if code[i] == 0x64 && code[i+1]&^0x04 == 0x48 && code[i+2] == 0x8b &&
			code[i+3]&0xc7 == 0x04 && code[i+4] == 0x25 {
			return int32(binary.LittleEndian.Uint32(code[i+5:]))
		}
		// mov disp32(%rip),%reg, the offset from the global offset table;
		// then mov %fs:(%reg),%reg
		if code[i]&^0x04 == 0x48 && code[i+1] == 0x8b && code[i+2]&0xc7 == 0x05 &&
			i+11 <= len(code) && code[i+7] == 0x64 {
			at := f.start + p.m.Bias + uint64(i) + 7 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+3:]))))
			if v, ok := u.mem.word(at); ok && v == uint64(int64(int32(v))) {
				return int32(v)
			}
		}
	}
	return usual
}
