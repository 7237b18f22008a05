package calls

import (
	"errors"
	"slices"
	"strings"

	"ptools/internal/elfsym"
)

// A Found is a function that was asked for.
type Found struct {
	Name string // demangled
	Raw  string
	Function
	Plan *Plan
	Err  error // why it has no plan
}

// Why a function that has a name has no plan.
var (
	ErrChosen = errors.New("it only chooses another function, at run time (IFUNC)")
	ErrSize   = errors.New("its symbol has no size")
	ErrOldGo  = errors.New("its Go version is older than 1.18, or not known")
)

// maxFound bounds the functions of one file.
const maxFound = 1 << 20

// Find returns the functions of a file that match, by address, with their plans. Match is given the symbol as it is in
// the file. With arguments, entries are where arguments can be read.
func Find(f *elfsym.File, arguments bool, match func(f *elfsym.Sym) bool) []Found {
	s := newSearch(f, arguments)
	n := 0
	elfsym.Functions(f, func(sym elfsym.Sym) bool {
		if isCold(sym.Raw) {
			s.addCold(sym)
		} else if match(&sym) {
			s.add(sym)
		}
		n++
		return n < maxFound
	})
	s.finish()
	return s.found
}

// A search goes through the functions of a file.
type search struct {
	file       *elfsym.File
	table      *elfsym.GoTable // nil if it is no Go program
	arguments  bool
	exceptions bool // it has code that only unwinders lead to
	found      []Found
	at         map[uint64]int // numbers in found, by address
	cold       []Range        // what compilers have moved away from functions
	apart      map[string][]Range
}

func newSearch(f *elfsym.File, arguments bool) *search {
	_, exceptions := f.SectionAddr(".gcc_except_table")
	s := &search{file: f, arguments: arguments, exceptions: exceptions, at: map[uint64]int{}, apart: map[string][]Range{}}
	if g, ok := f.Go(); ok {
		s.table = g
	}
	return s
}

// isCold reports whether a symbol is that of a part of a function, which GCC has moved away.
func isCold(raw string) bool {
	at := strings.LastIndex(raw, ".cold")
	if at <= 0 {
		return false
	}
	return strings.Trim(raw[at+len(".cold"):], ".0123456789") == ""
}

func (s *search) addCold(sym elfsym.Sym) {
	if sym.Size == 0 {
		return
	}
	r := Range{sym.Addr, sym.Addr + sym.Size}
	name := sym.Raw[:strings.LastIndex(sym.Raw, ".cold")]
	if !slices.Contains(s.apart[name], r) {
		s.cold = append(s.cold, r)
		s.apart[name] = append(s.apart[name], r)
	}
}

// add notes a function, once for all of its names.
func (s *search) add(sym elfsym.Sym) {
	if _, ok := s.at[sym.Addr]; ok {
		return
	}
	s.at[sym.Addr] = len(s.found)
	f := Found{Name: elfsym.Demangled(sym.Raw), Raw: sym.Raw, Function: Function{Range: Range{sym.Addr, sym.Addr + sym.Size}}}
	switch {
	case sym.Kind == elfsym.IFunc:
		f.Err = ErrChosen
	case sym.Size == 0:
		f.Err = ErrSize
	case sym.Kind == elfsym.Go:
		f.Err = s.convention(&f)
	default:
		f.Lands = s.exceptions
	}
	s.found = append(s.found, f)
}

// convention finds out how a Go function is called.
func (s *search) convention(f *Found) error {
	if s.table.Version() == "" {
		return ErrOldGo
	}
	f.Convention = Go
	if strings.HasSuffix(f.Raw, ".abi0") { // a wrapper for assembler code, which passes arguments on the stack
		f.Convention = GoAsm
		return nil
	}
	if fn, ok := s.table.Func(f.Start); ok && fn.Flags&elfsym.GoAsm != 0 {
		f.Convention = GoAsm
	}
	return nil
}

// finish makes the plans.
func (s *search) finish() {
	compareRange := func(a, b Range) int { return compare(a.Start, b.Start) }
	slices.SortFunc(s.cold, compareRange)
	slices.SortFunc(s.found, func(a, b Found) int { return compareRange(a.Range, b.Range) })
	code := &blocks{Code: s.file}
	for i := range s.found {
		f := &s.found[i]
		if f.Err != nil {
			continue
		}
		f.Cold, f.Arguments = s.coldAt, s.arguments
		if parts := s.apart[f.Raw]; len(parts) == 1 && f.Lands {
			f.Apart = parts
		}
		f.Plan, f.Err = MakePlan(code, &f.Function)
	}
}

// coldAt returns the part at an address that was moved away from a function.
func (s *search) coldAt(addr uint64) (Range, bool) {
	i, ok := slices.BinarySearchFunc(s.cold, addr, func(r Range, addr uint64) int { return compare(r.Start, addr) })
	if !ok {
		i--
	}
	if i < 0 || !s.cold[i].Has(addr) {
		return Range{}, false
	}
	return s.cold[i], true
}
