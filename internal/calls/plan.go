package calls

import (
	"errors"
	"slices"

	"ptools/internal/perfevent"
)

// A Convention says how a function is called, and what its stack is.
type Convention uint8

const (
	C     Convention = iota // System V; a thread or coroutine has the stack
	Go                      // Go 1.17 and later: a goroutine has the stack, and it may move
	GoAsm                   // an assembler function of a Go program
)

// A Range is a piece of code, by link-time addresses.
type Range struct{ Start, End uint64 }

// Has reports whether the range contains an address.
func (r Range) Has(addr uint64) bool { return r.Start <= addr && addr < r.End }

// A Function is what a plan is made for.
type Function struct {
	Range
	Convention
	// Arguments: registers that arguments are in have not been written where the probe of the entry is.
	Arguments bool
	// Lands: unwinders or the runtime may lead to code of the function that no instruction leads to.
	Lands bool
	// Cold returns the piece of a function at an address that the compiler has moved away, if one is there.
	Cold func(addr uint64) (Range, bool)
	// Apart are such pieces that nothing but an unwinder may lead to.
	Apart []Range
}

// A Place is the place of a probe.
type Place struct {
	Addr     uint64 // link-time address
	Slot     int32  // address of the return address minus the stack pointer
	Emulated bool   // the kernel does not single-step the instruction
	Tail     bool   // the function ends there by a jump to another; at the entry, it ends where it begins
	Return   bool   // of an entry with Tail: by a return
	Cond     uint8  // condition of that jump: the low four bits of its opcode, or Always
}

// ends is how the function ends there, for the kernel.
func (p *Place) ends() perfevent.CallEnd {
	switch {
	case p.Return:
		return perfevent.ByReturn
	case p.Tail:
		return perfevent.ByJump
	}
	return perfevent.NoEnd
}

// Always is the condition of what has none.
const Always = 16

// A Plan says where the probes of a function are.
type Plan struct {
	Entry   Place
	Returns []Place
	// Whole is nil if the probes see each end of a call. Otherwise it says why Returns is empty.
	Whole error
	// Doubt says what about Returns is likely, and not certain; empty if nothing is.
	Doubt string
	// Elsewhere are pieces of the function that the compiler has moved away from it.
	Elsewhere []Range
}

// Why a function cannot be probed, or not all of it.
var (
	ErrUnread   = errors.New("its code cannot be read")
	ErrLoop     = errors.New("its first instruction is also the head of a loop")
	ErrNoPlace  = errors.New("its first block has no instruction that can have a probe")
	ErrLarge    = errors.New("it is larger than 1 MB")
	ErrDecode   = errors.New("it has bytes that are no instructions, or may be none")
	ErrFar      = errors.New("it has far branches or transactions")
	ErrNoReturn = errors.New("it does not return")
	ErrEnd      = errors.New("it ends by an instruction that can have no probe")
	ErrCount    = errors.New("it ends by a jump on a counter")
)

// maxCode bounds the size of a function.
const maxCode = 1 << 20

// Code is where code is read from; it is an elfsym.File.
type Code interface {
	ReadAddr(b []byte, addr uint64) bool
}

// MakePlan returns the plan of a function. With an error the function cannot have any probe.
func MakePlan(code Code, f *Function) (*Plan, error) {
	b, err := readBody(code, f)
	if err != nil {
		return nil, err
	}
	ends, whole := b.ends(f)
	entry, err := b.entry(f, ends)
	if err != nil {
		return nil, err
	}
	p := &Plan{Entry: entry, Whole: whole}
	for _, piece := range b.pieces[1:] {
		p.Elsewhere = append(p.Elsewhere, piece.Range)
	}
	if whole != nil {
		return p, nil
	}
	for _, place := range ends {
		if place.Addr != entry.Addr {
			p.Returns = append(p.Returns, place)
		}
	}
	if b.guessed {
		p.Doubt = "an indirect jump is taken for a tail call"
	}
	if len(p.Returns) == 0 && !entry.Tail {
		p.Whole = ErrNoReturn
	}
	slices.SortFunc(p.Returns, func(a, b Place) int { return compare(a.Addr, b.Addr) })
	return p, nil
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
