package rtld

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var (
	// ErrNoLinker says that the program has no run-time linker: it is static, or static-PIE.
	ErrNoLinker = errors.New("static program: no run-time linker")
	// ErrNotReady says that the linker has not published its list yet. It will when the process runs on.
	ErrNotReady = errors.New("the run-time linker has not started yet")
	// ErrCorrupt says that the memory read has no valid list of link maps: the process runs and is
	// changing the list, or has overwritten it.
	ErrCorrupt = errors.New("corrupt list of link maps")
)

// Linker has the addresses, in the process, of what its run-time linker provides for debuggers.
type Linker struct {
	Debug     uint64 // the struct r_debug of the base namespace; 0: not known yet
	Break     uint64 // the function that is called before and after each change of the list
	Published bool   // the executable's DT_DEBUG points to Debug: the linker has filled it
}

// Types of auxiliary vector entries (<elf.h>, getauxval(3)).
const (
	atPhdr  = 3
	atPhent = 4
	atPhnum = 5
	atBase  = 7
)

// Find finds the run-time linker of a process by its memory and its auxiliary vector
// (/proc/PID/auxv).
//
// Between exec and the linker's start DT_DEBUG is still zero. Then Find calls symbol for the
// run-time addresses of "_dl_debug_state" and "_r_debug" (glibc) or "_dl_debug_addr" (musl). They
// are in the interpreter, the object at AT_BASE. If the linker was run as a command, AT_BASE is
// zero, and they are in the executable itself. symbol may be nil. If the symbols are not found
// either, the error is ErrNotReady. For a 32-bit program it is errors.ErrUnsupported.
func Find(mem io.ReaderAt, auxv map[uint64]uint64, symbol func(name string) (addr uint64, ok bool)) (Linker, error) {
	exe, err := readImage(mem, auxv)
	if err != nil {
		return Linker{}, err
	}
	dyn, err := exe.dynamic(mem)
	if err != nil {
		return Linker{}, err
	}
	// A program that asks for no interpreter but has a soname is a linker that was run as a command.
	if !exe.interp && !(auxv[atBase] == 0 && dyn.soname) {
		return Linker{}, ErrNoLinker
	}
	if l, ok := published(mem, dyn.debug); ok {
		return l, nil
	}
	if symbol == nil {
		return Linker{}, ErrNotReady
	}
	return bySymbol(mem, symbol)
}

// published returns the Linker that DT_DEBUG's value leads to, if that points to a filled struct r_debug.
func published(mem io.ReaderAt, debug uint64) (Linker, bool) {
	if debug == 0 {
		return Linker{}, false
	}
	d, err := readDebug(mem, debug)
	if err != nil || d.brk == 0 {
		return Linker{}, false
	}
	return Linker{Debug: debug, Break: d.brk, Published: true}, true
}

func bySymbol(mem io.ReaderAt, symbol func(name string) (uint64, bool)) (Linker, error) {
	var l Linker
	l.Break, _ = symbol("_dl_debug_state")
	if l.Break == 0 {
		return Linker{}, ErrNotReady
	}
	if addr, ok := symbol("_r_debug"); ok {
		l.Debug = addr
	} else if addr, ok := symbol("_dl_debug_addr"); ok {
		// A pointer, which musl relocates before its first call of Break.
		if p, err := readWord(mem, addr); err == nil {
			if _, err := readDebug(mem, p); err == nil {
				l.Debug = p
			}
		}
	}
	return l, nil
}

// image is the executable as the kernel has mapped it.
type image struct {
	bias    uint64 // run-time minus link-time addresses
	dynAddr uint64 // of the dynamic section; 0: none
	dynSize uint64
	interp  bool // it has a PT_INTERP
}

// Sizes of the structures that are read (<elf.h>).
const (
	phdrSize   = 56
	headerSize = 64
	maxPhnum   = 1024
)

// readImage reads the program headers at AT_PHDR. PT_PHDR has their own address. Programs without
// it (static ones) have them behind the ELF header at the start of the first segment.
func readImage(mem io.ReaderAt, auxv map[uint64]uint64) (image, error) {
	phdr, n := auxv[atPhdr], auxv[atPhnum]
	if size := auxv[atPhent]; size != 0 && size != phdrSize {
		return image{}, fmt.Errorf("program headers of %d bytes, not of a 64-bit program: %w", size, errors.ErrUnsupported)
	}
	if phdr == 0 || n == 0 || n > maxPhnum {
		return image{}, ErrNoLinker
	}
	b := make([]byte, n*phdrSize)
	if err := read(mem, b, phdr); err != nil {
		return image{}, err
	}
	var im image
	var self, first uint64
	var hasSelf bool
	for ; len(b) > 0; b = b[phdrSize:] {
		off, vaddr := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		switch elf.ProgType(binary.LittleEndian.Uint32(b)) {
		case elf.PT_PHDR:
			self, hasSelf = vaddr, true
		case elf.PT_LOAD:
			if off == 0 {
				first = vaddr
			}
		case elf.PT_INTERP:
			im.interp = true
		case elf.PT_DYNAMIC:
			im.dynAddr, im.dynSize = vaddr, binary.LittleEndian.Uint64(b[40:])
		}
	}
	if !hasSelf {
		self = first + headerSize
	}
	im.bias = phdr - self
	if im.dynAddr != 0 {
		im.dynAddr += im.bias
	}
	return im, nil
}

// dynamic is the part of a dynamic section that is needed.
type dynamic struct {
	debug  uint64 // value of DT_DEBUG
	soname bool   // there is a DT_SONAME
}

// The size of a dynamic entry (<elf.h>), and of the longest section that is read.
const (
	dynEntry = 16
	maxDyn   = 4096 * dynEntry
)

func (im *image) dynamic(mem io.ReaderAt) (dynamic, error) {
	var d dynamic
	if im.dynAddr == 0 {
		return d, nil
	}
	b := make([]byte, min(im.dynSize, maxDyn)/dynEntry*dynEntry)
	if err := read(mem, b, im.dynAddr); err != nil {
		return d, err
	}
	for ; len(b) > 0; b = b[dynEntry:] {
		switch elf.DynTag(binary.LittleEndian.Uint64(b)) {
		case elf.DT_NULL:
			return d, nil
		case elf.DT_DEBUG:
			d.debug = binary.LittleEndian.Uint64(b[word:])
		case elf.DT_SONAME:
			d.soname = true
		}
	}
	return d, nil
}
