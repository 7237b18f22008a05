package calls

import "ptools/internal/x86"

// A body is the decoded code of a function.
type body struct {
	pieces  []*piece // the first is that of the function itself
	tables  bool     // it jumps by tables
	clean   bool     // every byte belongs to an instruction
	guessed bool     // an indirect jump was taken for a tail call
}

// A piece is a part of a function that is in one place. Its slices are by the offset of an instruction.
type piece struct {
	Range
	bytes   []byte
	steps   []x86.Step // what was decoded; without a length elsewhere
	reached []bool     // what the flow of control leads to
	targets []bool     // where jumps inside the function lead to
}

// readBody decodes a function. It follows the flow of control, and then reads the rest from front to back.
func readBody(code Code, f *Function) (*body, error) {
	b := &body{clean: true}
	for _, r := range append([]Range{f.Range}, f.Apart...) {
		if err := b.add(code, r); err != nil {
			return nil, err
		}
	}
	work := []uint64{f.Start}
	for len(work) > 0 {
		addr := work[len(work)-1]
		next, err := b.follow(code, f, addr)
		if err != nil {
			return nil, err
		}
		work = append(work[:len(work)-1], next...)
	}
	if b.tables || f.Lands || f.Convention != C {
		b.clean = b.sweep()
	}
	return b, nil
}

// add reads the bytes of a range.
func (b *body) add(code Code, r Range) error {
	if r.End <= r.Start || r.End-r.Start > maxCode {
		return ErrLarge
	}
	n := r.End - r.Start
	p := &piece{r, make([]byte, n), make([]x86.Step, n), make([]bool, n), make([]bool, n)}
	if !code.ReadAddr(p.bytes, r.Start) {
		return ErrUnread
	}
	b.pieces = append(b.pieces, p)
	return nil
}

// in returns the piece that has an address, and the offset there; nil if none has.
func (b *body) in(addr uint64) (*piece, uint64) {
	for _, p := range b.pieces {
		if p.Has(addr) {
			return p, addr - p.Start
		}
	}
	return nil, 0
}

// has reports whether the function has an address.
func (b *body) has(addr uint64) bool {
	p, _ := b.in(addr)
	return p != nil
}

// bytesAt returns the code from an address on.
func (b *body) bytesAt(addr uint64) []byte {
	p, off := b.in(addr)
	if p == nil {
		return nil
	}
	return p.bytes[off:]
}

// stepAt returns the instruction that was decoded at an address.
func (b *body) stepAt(addr uint64) (x86.Step, bool) {
	p, off := b.in(addr)
	if p == nil {
		return x86.Step{}, false
	}
	return p.steps[off], p.steps[off].Len > 0
}

// isTarget reports whether a jump inside the function leads to an address.
func (b *body) isTarget(addr uint64) bool {
	p, off := b.in(addr)
	return p != nil && p.targets[off]
}

// follow decodes from an address on, as far as instructions follow each other. It returns where jumps lead to.
func (b *body) follow(code Code, f *Function, addr uint64) (next []uint64, err error) {
	for {
		p, off := b.in(addr)
		if p == nil || p.reached[off] {
			return next, nil
		}
		s, ok := x86.StepOf(p.bytes[off:])
		if !ok || s.Way == x86.Elsewhere {
			return nil, decodeError(ok)
		}
		p.steps[off], p.reached[off] = s, true
		switch s.Way {
		case x86.Jump, x86.JumpIf:
			target := addr + uint64(s.Target)
			if err := b.addCold(code, f, target); err != nil {
				return nil, err
			}
			if p, off := b.in(target); p != nil {
				p.targets[off] = true
				next = append(next, target)
			}
		case x86.JumpIndirect:
			table, _ := b.byTable(addr, s)
			b.tables = b.tables || table
		}
		if s.Way == x86.Jump || s.Way == x86.JumpIndirect || s.Way == x86.Return || s.Way == x86.Nowhere {
			return next, nil
		}
		addr += uint64(s.Len)
	}
}

// addCold adds the piece that a jump leads to, if it is one of the function that was moved away.
func (b *body) addCold(code Code, f *Function, target uint64) error {
	if f.Cold == nil || b.has(target) {
		return nil
	}
	if r, ok := f.Cold(target); ok {
		return b.add(code, r)
	}
	return nil
}

func decodeError(decoded bool) error {
	if decoded {
		return ErrFar
	}
	return ErrDecode
}

// sweep decodes the pieces from front to back, and adds what the flow has not reached. It returns false if the two
// ways of decoding differ, or if a jump leads between two instructions.
func (b *body) sweep() bool {
	for _, p := range b.pieces {
		steps := make([]x86.Step, len(p.bytes))
		for off := 0; off < len(steps); {
			s, ok := x86.StepOf(p.bytes[off:])
			if !ok || s.Way == x86.Elsewhere {
				return false
			}
			steps[off] = s
			off += s.Len
		}
		for off, reached := range p.reached {
			if reached && steps[off].Len == 0 {
				return false
			}
		}
		p.steps = steps
	}
	for addr, s := range b.all {
		if s.Way != x86.Jump && s.Way != x86.JumpIf {
			continue
		}
		if p, off := b.in(addr + uint64(s.Target)); p != nil {
			if p.steps[off].Len == 0 {
				return false
			}
			p.targets[off] = true
		}
	}
	return true
}

// all yields the instructions with their addresses.
func (b *body) all(yield func(addr uint64, s x86.Step) bool) {
	for _, p := range b.pieces {
		for off := 0; off < len(p.steps); off++ {
			s := p.steps[off]
			if s.Len > 0 && !yield(p.Start+uint64(off), s) {
				return
			}
		}
	}
}
