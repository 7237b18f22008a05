package program

import (
	"debug/elf"
	"encoding/binary"
	"io"

	"ptools/internal/procfs"
	"ptools/internal/rtld"
	"ptools/pctl/handle"
)

// Image is the program of one exec.
type Image struct {
	space   *handle.Space
	mem     io.ReaderAt
	class   elf.Class
	auxv    procfs.Auxv
	linker  rtld.Linker
	list    listState
	objects []rtld.Object
	mapped  []handle.Object // as of the last Remapped
	slots   slotCache
}

// New returns the program that process pid runs now. space is its map and mem is its memory. former is the Image of
// the program before it, or nil.
func New(pid int, space *handle.Space, mem io.ReaderAt, former *Image) *Image {
	i := &Image{space: space, mem: mem, class: procfs.ExeClass(pid), auxv: space.Auxv()}
	if former != nil {
		i.slots = former.slots // files stay the same
	}
	return i
}

// Unreadable returns a program of which nothing can be read. space is the map that says so, or nil before the first
// exec. former is as for New.
func Unreadable(pid int, space *handle.Space, former *Image) *Image {
	i := &Image{space: space, mem: nothing{}, class: procfs.ExeClass(pid), list: listAbsent}
	if former != nil {
		i.slots = former.slots
	}
	return i
}

// nothing is the memory of an unreadable program.
type nothing struct{}

func (nothing) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

// Auxv returns the auxiliary vector that the kernel gave the program. It is empty while an exec, or the end of the
// process, is under way. It is also empty if the program cannot be read.
func (i *Image) Auxv() procfs.Auxv { return i.auxv }

// Entry returns the address of the program's first instruction.
func (i *Image) Entry() uint64 { return i.auxv[procfs.AuxEntry] }

// Is32Bit reports whether it is a 32-bit program.
func (i *Image) Is32Bit() bool { return i.class == elf.ELFCLASS32 }

// IsText reports whether an address is in the text of an object.
func (i *Image) IsText(addr uint64) bool {
	_, ok := i.space.Find(addr)
	return ok
}

// word reads an address out of the process.
func (i *Image) word(addr uint64) (uint64, error) {
	var b [8]byte
	_, err := i.mem.ReadAt(b[:], int64(addr))
	return binary.LittleEndian.Uint64(b[:]), err
}
