package calls

import (
	"errors"
	"runtime"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
	"ptools/pctl/handle"
)

// ErrNotEntry is the error of an address at which no function begins.
var ErrNotEntry = errors.New("no function begins there: arguments are known where one does")

// EntryArguments says how the arguments of a function are read where it begins.
type EntryArguments struct {
	file   *elfsym.File
	layout *layout
	types  *goTypes
	fixed  constants
}

// ArgumentsAt finds out about the function that begins at an address of a process. It reads debug information.
func ArgumentsAt(space *handle.Space, addr uint64) (*EntryArguments, error) {
	if runtime.GOARCH != "amd64" {
		return nil, errors.ErrUnsupported
	}
	o, ok := space.Object(addr)
	if !ok || o.File == nil {
		return nil, ErrNotEntry
	}
	sym, ok := o.File.Symbol(addr - o.Bias)
	if !ok || sym.Addr != addr-o.Bias {
		return nil, ErrNotEntry
	}
	s := newSearch(o.File, true)
	if s.table != nil {
		if _, ok := s.table.Func(sym.Addr); ok {
			sym.Kind = elfsym.Go // also if the name was found in the symbol table
		}
	}
	s.add(sym)
	f := &s.found[0]
	if f.Err == ErrOldGo {
		return nil, f.Err
	}
	e := &EntryArguments{file: o.File, fixed: constants{space}}
	e.layout = layoutOf(f, elfsym.SignatureOf(o.File, sym.Addr))
	if s.table != nil {
		e.types = newGoTypes(&object{Object: o}, nil, e.fixed)
	}
	return e, nil
}

// Of reports whether the function is in a file.
func (e *EntryArguments) Of(f *elfsym.File) bool { return e.file == f }

// Read returns the arguments of a thread that stands at the beginning of the function: its registers are in the order of
// perfevent.CallValues.
func (e *EntryArguments) Read(regs [perfevent.WordRegs]uint64, sp uint64, memory Memory) []Value {
	var v perfevent.CallValues
	v.Fill(regs, sp, &e.layout.copies, func(b []byte, addr uint64) bool {
		_, err := memory.ReadAt(b, int64(addr))
		return err == nil
	})
	if e.types != nil {
		e.types.memory = memory
		defer func() { e.types.memory = nil }()
	}
	f := formatter{&v, e.types, e.fixed}
	return f.all(e.layout.args)
}
