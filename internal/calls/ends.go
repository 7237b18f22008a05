package calls

import (
	"golang.org/x/arch/x86/x86asm"

	"ptools/internal/x86"
)

// ends returns the places where the function ends: returns, and jumps out of it.
func (b *body) ends(f *Function) ([]Place, error) {
	if !b.clean {
		return nil, ErrDecode
	}
	var places []Place
	for addr, s := range b.all {
		place := Place{Addr: addr, Emulated: s.Emulated, Cond: Always}
		switch s.Way {
		case x86.Return:
			places = append(places, place)
		case x86.Jump, x86.JumpIf:
			if b.has(addr + uint64(s.Target)) {
				continue
			}
			place.Tail = true
			if s.Way == x86.JumpIf {
				if place.Cond = s.Cond; s.Cond == x86.CondCount {
					return nil, ErrCount
				}
			}
			places = append(places, place)
		case x86.JumpIndirect:
			table, sure := b.byTable(addr, s)
			if table {
				continue
			}
			place.Tail = true
			b.guessed = b.guessed || !sure
			places = append(places, place)
		}
	}
	for _, p := range places {
		if !probeable(b.bytesAt(p.Addr), p.Addr) {
			return nil, ErrEnd
		}
	}
	return places, nil
}

// lookBack bounds how many bytes before a jump are searched for what its register was computed by.
const lookBack = 48

// byTable reports whether an indirect jump is one to code of the same function. If its target is in a register, what
// has computed that register tells: tables have offsets, to which an address is added, or they are indexed. The answer is
// sure if that was found.
func (b *body) byTable(addr uint64, s x86.Step) (table, sure bool) {
	if s.Table {
		return true, true
	}
	in, err := x86asm.Decode(b.bytesAt(addr), 64)
	if err != nil {
		return true, false
	}
	reg, ok := in.Args[0].(x86asm.Reg)
	if !ok {
		return false, true
	}
	// The writer of the register that is nearest before the jump, in the order of the text.
	for back := uint64(1); back <= lookBack; back++ {
		prev := addr - back
		if _, ok := b.stepAt(prev); !ok {
			continue
		}
		w, err := x86asm.Decode(b.bytesAt(prev), 64)
		if err != nil {
			continue
		}
		if to, ok := w.Args[0].(x86asm.Reg); !ok || family(to) != family(reg) || w.Op == x86asm.CMP || w.Op == x86asm.TEST || w.Op == x86asm.PUSH {
			continue
		}
		if w.Op == x86asm.ADD || w.Op == x86asm.MOVSXD || w.Op == x86asm.MOVSX || w.Op == x86asm.MOVZX {
			return true, true
		}
		m, ok := w.Args[1].(x86asm.Mem)
		return ok && m.Index != 0, true
	}
	return false, false
}
