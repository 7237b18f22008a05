package elfsym

// Names says what a file tells of its functions.
type Names uint8

const (
	NamesOfNone    Names = iota // nothing
	NamesOfExports              // those that other files may use
	NamesOfAll
	NamesAndLines // all, with source lines
)

// Names finds out what the file, with its separate debug information, tells of its functions. It reads as little as
// possible of that.
func (f *File) Names() Names {
	if _, ok := f.Go(); ok || f.dwarf() != nil {
		return NamesAndLines
	}
	tables := f.allTables()
	switch {
	case len(tables) == 0:
		return NamesOfNone
	case tables[0].dyn == nil:
		return NamesOfAll
	}
	return NamesOfExports
}
