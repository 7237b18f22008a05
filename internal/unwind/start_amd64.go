package unwind

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

const (
	// backWindow is how far in front of an instruction its function's start is looked for.
	backWindow = 16 << 10
	// backStarts is how many possible starts are tried.
	backStarts = 24
	// backRoutes is how many different routes they may give.
	backRoutes = 4
	// openSize is how many bytes of a start are examined.
	openSize = 4
)

// tryBack takes a route from a possible start of the function.
func (u *Unwinder) tryBack(p *place, sp uint64, r *routes) bool {
	if !r.walked {
		r.back, r.walked = u.walkBack(&p.m, p.pc), true
	}
	for i := range r.back {
		if u.tryRoute(&r.back[i], sp, u.returns) {
			return true
		}
	}
	return false
}

// walkBack looks for possible starts of the function around pc. No symbol and no table has it,
// and its return cannot be found: it never returns. A possible start is code that begins to save
// registers or to make room on the stack, behind something that ends a function. The nearest
// come first.
func (l *planner) walkBack(m *Mapping, pc uint64) []route {
	from := m.Start
	if pc-from > backWindow {
		from = pc - backWindow
	}
	code := make([]byte, pc-from+openSize)
	if !m.Table.obj.ReadAddr(code, from-m.Bias) {
		return nil
	}
	var found []route
	tried := 0
	for i := int(pc - from); i > 0 && tried < backStarts && len(found) < backRoutes; i-- {
		if !opensFrame(code[i:]) || !endsFlow(code[:i]) {
			continue
		}
		tried++
		r := l.walkIn(m, from+uint64(i), pc, m.End)
		if r.ok && (len(found) == 0 || found[len(found)-1] != r) {
			found = append(found, r)
		}
	}
	return found
}

// endsAt reports whether a function may end at p, behind a call that never returns: padding follows, up to where another
// function can begin.
func (l *planner) endsAt(p *place) bool {
	const align = 16
	end := (p.pc + align - 1) &^ (align - 1)
	if end == p.pc {
		return false
	}
	code := l.readCode(&p.m, p.pc, int(end-p.pc))
	if len(code) != int(end-p.pc) {
		return false
	}
	for len(code) > 0 {
		in, err := x86asm.Decode(code, 64)
		if err != nil || in.Op != x86asm.NOP && code[0] != 0xcc { // int3
			return false
		}
		code = code[in.Len:]
	}
	return true
}

// opensFrame reports whether code begins like a function that keeps something on the stack: with
// endbr64, a push of a register that belongs to the caller, or of rax, which makes room, or sub $n,%rsp. code has openSize bytes.
func opensFrame(code []byte) bool {
	switch code[0] {
	case 0x50, 0x53, 0x55: // push %rax, %rbx, %rbp
		return true
	case 0x41: // push %r12 to %r15
		return code[1] >= 0x54 && code[1] <= 0x57
	case 0x48:
		return (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xec
	}
	return binary.LittleEndian.Uint32(code) == 0xfa1e0ff3
}

// endsFlow reports whether the code in front of a function may be the end of another: a return,
// a jump, a call of a function that never returns, ud2, or padding.
func endsFlow(code []byte) bool {
	n := len(code)
	if n < 5 {
		return false
	}
	switch code[n-1] {
	case 0xc3, 0x90, 0xcc: // ret, nop, int3
		return true
	}
	return code[n-5] == 0xe9 || code[n-5] == 0xe8 || code[n-2] == 0xeb ||
		code[n-2] == 0x0f && code[n-1] == 0x0b ||
		string(code[n-3:]) == "\x0f\x1f\x00" || string(code[n-4:]) == "\x0f\x1f\x40\x00" || // nop
		binary.LittleEndian.Uint16(code[n-2:]) == 0 // its longer forms
}
