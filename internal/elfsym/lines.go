package elfsym

// A Line is a position in source.
type Line struct {
	Func    string // demangled
	Raw     string // as it is in the file
	File    string
	Line    int  // 0 if unknown
	Inlined bool // Func was inlined into the function of the next Line
	Wrapper bool // Go's compiler has made Func, for a method value, a go statement or a defer; known from Go 1.18 on
}

// Lines appends to buf the source positions of a link-time address: the
// innermost function first, then the chain of callers that it was inlined
// into, the function itself last. It appends nothing if the file has no line
// information for the address. It looks in Go's pclntab first, then in DWARF.
func (f *File) Lines(vaddr uint64, buf []Line) []Line {
	f.touch()
	if g, ok := f.Go(); ok {
		if lines := g.lines(vaddr, buf); len(lines) > len(buf) {
			return lines
		}
	}
	return f.dwarfLines(vaddr, buf)
}
