package unwind

import "ptools/internal/elfsym"

// NewTable returns the table of f. It reads nothing yet.
func NewTable(f *elfsym.File) *Table { return newTable(elfObject{f}) }

// An elfObject is an ELF file as an object.
type elfObject struct{ *elfsym.File }

func (o elfObject) golang() goTable {
	t, ok := o.Go()
	if !ok {
		return nil
	}
	return t
}

func (o elfObject) extent(pc uint64) (start, end uint64, ok bool) {
	s, ok := o.Symbol(pc)
	if !ok || s.Size == 0 || s.Kind == elfsym.Label {
		return 0, 0, false
	}
	return s.Addr, s.Addr + s.Size, true
}
