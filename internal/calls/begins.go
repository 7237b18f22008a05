package calls

import (
	"errors"
	"fmt"
	"runtime"

	"ptools/internal/elfsym"
	"ptools/internal/x86"
)

// ErrInside is the error of an address inside an instruction.
var ErrInside = errors.New("it is inside an instruction: a trap there would change what the process does")

// ErrUnknownPlace is that of one of which this is not known.
var ErrUnknownPlace = errors.New("whether an instruction begins there is not known: its function is not, or has bytes that are none")

// Begins reports whether an instruction begins at a link-time address, by decoding its function from its beginning on. The error is ErrInside,
// or, if that cannot be known, ErrUnknownPlace. cost is how many bytes were decoded.
func Begins(f *elfsym.File, addr uint64) (cost uint64, err error) {
	if runtime.GOARCH != "amd64" {
		if addr%4 != 0 {
			return 0, ErrInside
		}
		return 0, nil
	}
	sym, ok := f.Symbol(addr)
	if !ok {
		return 0, ErrUnknownPlace
	}
	if sym.Addr == addr {
		return 0, nil
	}
	n := addr - sym.Addr
	if n > maxCode {
		return 0, ErrUnknownPlace
	}
	code := make([]byte, n+longest)
	for !f.ReadAddr(code, sym.Addr) { // the segment may end behind the address
		if uint64(len(code)) == n {
			return 0, ErrUnknownPlace
		}
		code = code[:len(code)-1]
	}
	at, last := uint64(0), uint64(0)
	for at < n {
		s, ok := x86.StepOf(code[at:])
		if !ok {
			break
		}
		last, at = at, at+uint64(s.Len)
	}
	if at == n {
		return n, nil
	}
	// There may be data in the function. What its jumps lead to is code.
	cost = n + sym.Size
	if b, e := readBody(f, &Function{Range: Range{sym.Addr, sym.Addr + sym.Size}}); e == nil && b.reaches(addr) {
		return cost, nil
	}
	if at < n {
		return cost, ErrUnknownPlace
	}
	return cost, fmt.Errorf("%w (one begins at %s+%#x, the next at +%#x)", ErrInside, elfsym.Demangled(sym.Raw), last, at)
}

// longest is the length of the longest instruction.
const longest = 15

// reaches reports whether the flow of control leads to an address.
func (b *body) reaches(addr uint64) bool {
	p, off := b.in(addr)
	return p != nil && p.reached[off]
}
