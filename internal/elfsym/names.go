package elfsym

// Names says what a file tells of its functions.
type Names uint8

const (
	NamesOfNone    Names = iota // nothing
	NamesOfExports              // those that other files may use
	NamesOfAll
	NamesAndLines // all, with source lines
)

// Wanted returns the build id of a file that would tell more of the functions than what there is: the separate debug file,
// or the supplementary file of one that is there. It returns "" if there is none, or it has no build id.
func (f *File) Wanted() string {
	if _, ok := f.Go(); ok {
		return ""
	}
	d := f.dwarf()
	if d == nil {
		return f.BuildID()
	}
	if l, ok := d.in.supLink(); ok && !l.sup && d.supplement() == nil {
		return l.id
	}
	return ""
}

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
