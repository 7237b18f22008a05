package calls

import (
	"runtime"

	"ptools/internal/elfsym"
)

// mostCounted is the largest function that is decoded for its counting place: threads may stand still meanwhile.
const mostCounted = 16 << 10

// CountingPlace returns the link-time address at which calls of a function are counted with the least cost: of the first instruction of its first block
// that the kernel emulates, if there is one that each call comes to once, otherwise its beginning.
func CountingPlace(f *elfsym.File, sym *elfsym.Sym) uint64 {
	if runtime.GOARCH != "amd64" || sym.Size > mostCounted {
		return sym.Addr
	}
	s, function := newSearch(f, false), *sym
	if s.table != nil {
		if _, ok := s.table.Func(sym.Addr); ok {
			function.Kind = elfsym.Go // also if the name was found in the symbol table
		}
	}
	s.add(function)
	s.finish()
	if p := s.found[0].Plan; p != nil && p.Entry.Emulated {
		return p.Entry.Addr
	}
	return sym.Addr
}
