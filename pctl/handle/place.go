package handle

import (
	"fmt"
	"path"

	"ptools/internal/unwind"
)

// PlaceOf returns what stands for the name of a function without one, whose frame Symbolize has returned for pc: its file, and the
// address where it begins there. If no table says where functions begin, it is the address of the instruction. In a file that is not
// ELF it is the offset.
func (s *Space) PlaceOf(pc uint64, f *Frame) string { return s.Now().PlaceOf(pc, f) }

// PlaceOf is Space.PlaceOf.
func (t Then) PlaceOf(pc uint64, f *Frame) string {
	m, ok := t.Find(pc)
	if !ok {
		return ""
	}
	if m.Table == nil {
		return PlaceIn(f.Object, f.Offset)
	}
	return PlaceAt(m.Table, pc-m.Bias, f.Object)
}

// PlaceAt is PlaceOf for an address as the file counts them.
func PlaceAt(t *unwind.Table, at uint64, object string) string {
	if start, ok := t.Start(at); ok {
		at = start
	}
	return PlaceIn(object, at)
}

// PlaceIn is a place in a file.
func PlaceIn(object string, at uint64) string { return fmt.Sprintf("%s+%#x", path.Base(object), at) }
