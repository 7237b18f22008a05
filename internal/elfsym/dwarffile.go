package elfsym

type dwarfFile struct{}

func (f *File) dwarfLines(vaddr uint64, buf []Line) []Line { return buf }
