package program

import (
	"debug/elf"
	"io"

	"ptools/internal/rtld"
	"ptools/pctl/handle"
)

// Main returns the address of the main function of the program that begins at entry: main, or main.main of a Go
// program. In a stripped program it is the address that the first instructions, read from text, hand to the C
// library. Some position-independent programs show it only when the linker has relocated them. Main returns false if
// nothing shows it.
func (i *Image) Main(entry uint64, text io.ReaderAt) (uint64, bool) {
	exe, ok := i.space.Object(entry)
	if !ok || exe.File == nil {
		return 0, false
	}
	if _, isGo := exe.File.Go(); isGo {
		if addr, ok := function(exe, "main.main"); ok {
			return addr, true
		}
	}
	if addr, ok := function(exe, "main"); ok {
		return addr, true
	}
	addr, ok := rtld.MainFromEntry(text, entry)
	return addr, ok && exe.Start <= addr && addr < exe.End && inText(exe, addr-exe.Bias)
}

// LoadedEntry returns the first instruction of the program that the linker has loaded. That is another one than Entry
// if the linker was run as a command. It returns false if the linker's list or the object does not show it.
func (i *Image) LoadedEntry() (uint64, bool) {
	if len(i.objects) == 0 {
		return 0, false
	}
	first := i.objects[0] // the program, also when the linker was run as a command
	o, ok := i.space.Object(first.Dynamic)
	if !ok || o.File == nil {
		return 0, false
	}
	return first.Base + o.File.Entry(), true
}

func function(o handle.Object, name string) (uint64, bool) {
	for _, s := range o.File.ByName(name) {
		if inText(o, s.Addr) {
			return o.Bias + s.Addr, true
		}
	}
	return 0, false
}

func inText(o handle.Object, vaddr uint64) bool {
	for _, s := range o.File.Segments() {
		if s.Flags&elf.PF_X != 0 && vaddr-s.Vaddr < s.Memsz {
			return true
		}
	}
	return false
}
