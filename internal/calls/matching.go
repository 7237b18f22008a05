package calls

import (
	"ptools/internal/elfsym"
)

// Functions returns the functions of a file that the pattern matches, once for each address, under the first of their names that matches. Name is
// demangled. A condition is left out of account. It reads all symbols of the file.
func (p *Pattern) Functions(f *elfsym.File) (found []elfsym.Sym) {
	seen := map[uint64]bool{}
	n := 0
	elfsym.Functions(f, func(sym elfsym.Sym) bool {
		if n++; !seen[sym.Addr] && p.mayMatch(sym.Raw) && !isCold(sym.Raw) {
			if names := NamesOf(sym.Raw); p.Matches(&names) {
				seen[sym.Addr] = true
				sym.Name = elfsym.Demangled(sym.Raw)
				found = append(found, sym)
			}
		}
		return n < maxFound
	})
	return found
}
