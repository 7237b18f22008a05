package unwind

import (
	"sync"

	"ptools/internal/elfsym"
)

// An object is what unwinding needs of an ELF file; *elfsym.File is the one there is.
type object interface {
	Section(name string) (addr uint64, data []byte, ok bool)
	SectionAddr(name string) (addr uint64, ok bool)
	ReadAddr(b []byte, addr uint64) bool
	Entry() uint64
	golang() goTable                               // nil: no Go code
	extent(pc uint64) (start, end uint64, ok bool) // of the function symbol at pc
}

// A goTable is the Go linker's table of functions; *elfsym.GoTable is the one there is.
type goTable interface {
	Func(pc uint64) (elfsym.GoFunc, bool)
	// SPDelta is the distance from the stack pointer at pc to the return address.
	SPDelta(pc uint64) (int32, bool)
}

// A Table knows how to leave the functions of one ELF file. It holds nothing of the
// file until a stack needs it. All goroutines may share it, and every process that
// maps the file.
type Table struct {
	obj object

	ehOnce    sync.Once
	eh        *frames // .eh_frame; nil if there is none
	debugOnce sync.Once
	debug     *frames // .debug_frame, of the file or its separate debug file

	goOnce sync.Once
	golang goTable
}

// frames returns .eh_frame, loaded at the first call.
func (t *Table) frames() *frames {
	t.ehOnce.Do(func() {
		addr, data, ok := t.obj.Section(".eh_frame")
		if !ok {
			return
		}
		sec := section{addr: addr, data: data, eh: true, base: t.bases()}
		hdrAddr, hdr, _ := t.obj.Section(".eh_frame_hdr")
		t.eh = newFrames(sec, hdrAddr, hdr)
	})
	return t.eh
}

// debugFrames returns .debug_frame, loaded and read through at the first call.
func (t *Table) debugFrames() *frames {
	t.debugOnce.Do(func() {
		_, data, ok := t.obj.Section(".debug_frame")
		if !ok {
			return
		}
		t.debug = newFrames(section{data: data, base: t.bases()}, 0, nil)
	})
	return t.debug
}

// goTable returns the functions of the Go linker's table, nil where there is none.
func (t *Table) goTable() goTable {
	t.goOnce.Do(func() { t.golang = t.obj.golang() })
	return t.golang
}

// goFunction returns the Go function at a link-time address.
func (t *Table) goFunction(pc uint64) (elfsym.GoFunc, bool) {
	if g := t.goTable(); g != nil {
		return g.Func(pc)
	}
	return elfsym.GoFunc{}, false
}

// bases returns the addresses that pointers of .eh_frame can be relative to.
func (t *Table) bases() bases {
	var b bases
	b.text, _ = t.obj.SectionAddr(".text")
	return b
}

// function returns the call frame information at a link-time address, or nil.
func (t *Table) function(pc uint64) *function {
	if fn := t.frames().function(pc); fn != nil {
		return fn
	}
	return t.debugFrames().function(pc)
}

// begins reports whether a function with call frame information begins at a link-time
// address.
func (t *Table) begins(pc uint64) bool {
	fn := t.function(pc)
	return fn != nil && fn.start == pc
}

// Start returns the link-time address at which the function with call frame information at a link-time
// address begins.
func (t *Table) Start(pc uint64) (start uint64, ok bool) {
	if fn := t.function(pc); fn != nil {
		return fn.start, true
	}
	return 0, false
}
