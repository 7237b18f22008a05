package unwind

import "ptools/internal/elfsym"

// NewTable returns the table of f. It reads nothing yet.
func NewTable(f *elfsym.File) *Table {
	return &Table{obj: f}
}
