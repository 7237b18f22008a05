package bkpt

import (
	"fmt"

	"ptools/internal/machine"
)

// codeSize is how many bytes of text are kept with a breakpoint: more than the
// longest instruction.
const codeSize = 16

// A Breakpoint is one address that threads stop at. Its fields and methods
// belong to the control goroutine.
type Breakpoint struct {
	// Addr is the address of the instruction, in the target.
	Addr uint64
	// Hits counts the hits; the control goroutine does the counting.
	Hits uint64

	trap   Kind
	owners int
	armed  bool  // its trap is in the text
	dead   bool  // the text was gone when the trap was last to be planted or lifted, or is no instruction; Add revives it
	place  place // what it was planned for
	code   [codeSize]byte
	plan   machine.Plan
	slot   *slot // scratch slot given to it
	bent   bool  // no free slot has a copy that comes back by itself
}

// Instruction returns the instruction at addr as a breakpoint that is in no table and never armed, so that
// a thread can make a step there. Code that is no instruction is accepted too.
func Instruction(addr uint64, code []byte) *Breakpoint {
	b := &Breakpoint{Addr: addr}
	_ = b.setCode(code)
	return b
}

// Plan returns how threads get past the breakpoint.
func (b *Breakpoint) Plan() *machine.Plan { return &b.plan }

// Orig returns the program's own byte, which the trap replaces.
func (b *Breakpoint) Orig() byte { return b.code[0] }

// Owners returns the number of owners: Adds less Removes.
func (b *Breakpoint) Owners() int { return b.owners }

// Armed reports whether the trap is in the text.
func (b *Breakpoint) Armed() bool { return b.armed }

// After reports whether a thread that has hit the breakpoint is behind the
// instruction, which has run: there is nothing to step off.
func (b *Breakpoint) After() bool { return b.trap.Lasting() }

// size is the number of bytes that must not have changed under the breakpoint.
func (b *Breakpoint) size() int { return max(1, b.plan.Len()) }

// read reads the code at the breakpoint's address, without the traps of other
// breakpoints, and makes the plan.
func (b *Breakpoint) read(t *Table) error {
	var code [codeSize]byte
	n, err := t.mem.ReadAt(code[:], int64(b.Addr))
	if n == 0 {
		return fmt.Errorf("read at %#x: %w", b.Addr, cause(err))
	}
	t.Overlay(code[:n], b.Addr)
	return b.setCode(code[:n])
}

func (b *Breakpoint) setCode(code []byte) error {
	p, err := machine.MakePlan(code, b.Addr)
	if err != nil {
		return err
	}
	b.code = [codeSize]byte{}
	copy(b.code[:], code)
	b.plan, b.bent = p, false
	return nil
}

// refresh compares the breakpoint with the code that is at its address now. It reports
// false where nothing is to be planted. One case is another instruction, which makes the
// breakpoint dead. The other is a trap that was not there before: it belongs to another
// tracer, which will restore the byte that it has found.
func (b *Breakpoint) refresh(t *Table, code []byte) bool {
	n := b.size()
	if len(code) >= n && string(code[:n]) == string(b.code[:n]) {
		return true
	}
	if len(code) > 0 && code[0] == breakByte && b.Orig() != breakByte {
		return false
	}
	t.end(b, ErrTextRewritten)
	return false
}
