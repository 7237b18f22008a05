package pctl

import (
	"errors"
	"slices"
	"sync"
	"weak"

	"ptools/internal/calls"
	"ptools/internal/elfsym"
	"ptools/pctl/control"
)

// finder looks for the functions of a pattern, or the code of a line, in each file once. Any goroutine may use it.
type finder struct {
	pattern calls.Pattern
	line    *calls.SourceLine // nil: pattern is meant
	off     uint64
	mu      sync.Mutex
	known   map[weak.Pointer[elfsym.File]][]control.Found
	source  Source
}

// Source is what is known of the line of a source file that a breakpoint is at.
type Source struct {
	Files []string // the paths of files that have such a line with code, as they are in debug information; several if more of the path is needed to name one
	Known bool     // an object names such a file
	Next  int      // the next line of it with code; 0 if there is none
}

// Source returns what the objects that were looked at have told of a breakpoint at a line. Any goroutine may call.
func (b *Breakpoint) Source() Source {
	if b.find == nil {
		return Source{}
	}
	b.find.mu.Lock()
	defer b.find.mu.Unlock()
	s := b.find.source
	s.Files = slices.Clone(s.Files)
	return s
}

// NoCode returns why a breakpoint at a line is nowhere, as an error; nil if it is somewhere, or at no line.
func (b *Breakpoint) NoCode() error {
	if b.find == nil || b.find.line == nil || b.Found() {
		return nil
	}
	s := b.Source()
	return calls.NoCode(b.find.line, s.Known, s.Next, b.p.PID())
}

// mostKnown bounds the files whose functions are remembered.
const mostKnown = 1024

// newFinder returns what a breakpoint by pattern or at a line looks for, nil if where is neither.
func newFinder(where Where) (*finder, error) {
	if line := where.line(); line != nil {
		if where.Line <= 0 || where.Offset != 0 {
			return nil, errors.New("a line has a number from 1 on, and no offset")
		}
		return &finder{line: line}, nil
	}
	if !where.IsPattern() {
		return nil, nil
	}
	p, err := calls.NamePattern(where.Symbol)
	return &finder{pattern: p, off: where.Offset}, err
}

// sought returns what control looks for.
func (f *finder) sought(where Where) control.Sought {
	s := control.Sought{Object: where.Object, Symbol: where.Symbol, Offset: where.Offset, Find: f.find}
	if f.line != nil {
		s.Symbol, s.IsLine = f.line.String(), true
	}
	return s
}

// find returns the functions of a file, or the places of the line there.
func (f *finder) find(file *elfsym.File) []control.Found {
	key := weak.Make(file)
	f.mu.Lock()
	defer f.mu.Unlock()
	found, ok := f.known[key]
	if ok {
		return found
	}
	if f.line != nil {
		found = f.findLine(file)
	} else {
		for _, sym := range f.pattern.Functions(file) {
			found = append(found, control.Found{Sym: sym, Off: f.off})
			if f.off != 0 && sym.Kind != elfsym.IFunc {
				found[len(found)-1].Err = begins(file, sym.Addr+f.off)
			}
		}
	}
	if f.known == nil || len(f.known) >= mostKnown {
		f.known = map[weak.Pointer[elfsym.File]][]control.Found{}
	}
	f.known[key] = found
	return found
}

// mostDecoded bounds the code of a file that is decoded for a line: its places may be far into functions that overlap.
const mostDecoded = 64 << 20

var errMuchCode = errors.New("the places of the line are too far into functions")

// findLine returns the places of the line in a file.
func (f *finder) findLine(file *elfsym.File) (found []control.Found) {
	code := f.line.Places(file)
	f.source.Known = f.source.Known || code.Found
	if code.Next > 0 && (f.source.Next == 0 || code.Next < f.source.Next) {
		f.source.Next = code.Next
	}
	for _, name := range code.Files {
		if !slices.Contains(f.source.Files, name) {
			f.source.Files = append(f.source.Files, name)
		}
	}
	slices.Sort(f.source.Files)
	decoded := uint64(0)
	for _, addr := range code.Addrs {
		at := control.Found{Sym: elfsym.Sym{Name: f.line.String(), Addr: addr}}
		if sym, ok := file.Symbol(addr); ok && sym.Kind != elfsym.IFunc {
			at.Sym, at.Off = sym, addr-sym.Addr
			at.Name = elfsym.Demangled(sym.Raw)
		}
		if decoded > mostDecoded {
			at.Err = errMuchCode
		} else {
			var n uint64
			n, at.Err = calls.Begins(file, addr)
			at.Err = midInstruction(at.Err)
			decoded += n
		}
		found = append(found, at)
	}
	return found
}

// begins returns an error if an address is inside an instruction, as far as that is known.
func begins(f *elfsym.File, addr uint64) error {
	_, err := calls.Begins(f, addr)
	if errors.Is(err, calls.ErrUnknownPlace) {
		return nil
	}
	return midInstruction(err)
}

// midInstruction has calls.ErrInside satisfy ErrMidInstruction.
func midInstruction(err error) error {
	if errors.Is(err, calls.ErrInside) {
		return insideError{err}
	}
	return err
}

type insideError struct{ error }

func (e insideError) Is(err error) bool { return err == ErrMidInstruction }
func (e insideError) Unwrap() error     { return e.error }
