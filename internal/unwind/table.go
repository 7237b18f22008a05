package unwind

import (
	"sync"
	"sync/atomic"

	"ptools/internal/elfsym"
)

// An object is what unwinding needs of an ELF file. *elfsym.File is the only implementation.
type object interface {
	Section(name string) (addr uint64, data []byte, ok bool)
	SectionAddr(name string) (addr uint64, ok bool)
	ReadAddr(b []byte, addr uint64) bool
	Entry() uint64
	golang() goTable                               // nil: no Go code
	extent(pc uint64) (start, end uint64, ok bool) // of the function symbol at pc
	Generation() uint32                            // changes when slices of Section, and what was read of them, should be let go of
	budget
}

// A budget bounds the work for an object, and what is held for it, in bytes. *elfsym.File is the only implementation.
type budget interface {
	Spend(n int) bool
	Keep(n int) bool
}

// A goTable is the Go linker's table of functions. *elfsym.GoTable is the only implementation.
type goTable interface {
	Func(pc uint64) (elfsym.GoFunc, bool)
	// SPDelta is the distance from the stack pointer at pc to the return address.
	SPDelta(pc uint64) (int32, bool)
}

// A Table knows how to leave the functions of one ELF file. It reads parts of the
// file only when a stack needs them. All goroutines, and all processes that map the
// file, may share it.
type Table struct {
	obj object
	now atomic.Pointer[contents]
}

// contents is what was read of the file. It is read again when the file has let go of it.
type contents struct {
	generation uint32
	// Each is read when it is first needed.
	frames      func() *frames // .eh_frame; nil if there is none
	debugFrames func() *frames // .debug_frame, of the file or its separate debug file
	goTable     func() goTable // the functions of the Go linker's table; nil if there is none
}

// newTable returns the Table of an object.
func newTable(obj object) *Table {
	t := &Table{obj: obj}
	t.now.Store(t.anew(obj.Generation()))
	return t
}

// contents returns what was read of the file, and can be read.
func (t *Table) contents() *contents {
	c := t.now.Load()
	if now := t.obj.Generation(); c.generation != now {
		t.now.CompareAndSwap(c, t.anew(now))
		c = t.now.Load()
	}
	return c
}

// anew returns contents of which nothing was read.
func (t *Table) anew(generation uint32) *contents {
	obj, c := t.obj, &contents{generation: generation}
	c.frames = sync.OnceValue(func() *frames {
		addr, data, ok := obj.Section(".eh_frame")
		if !ok {
			return nil
		}
		hdrAddr, hdr, _ := obj.Section(".eh_frame_hdr")
		return newFrames(section{addr: addr, data: data, eh: true, base: t.bases()}, hdrAddr, hdr, obj)
	})
	c.debugFrames = sync.OnceValue(func() *frames {
		_, data, ok := obj.Section(".debug_frame")
		if !ok {
			return nil
		}
		return newFrames(section{data: data, base: t.bases()}, 0, nil, obj)
	})
	c.goTable = sync.OnceValue(obj.golang)
	return c
}

// goFunction returns the Go function at a link-time address.
func (t *Table) goFunction(pc uint64) (elfsym.GoFunc, bool) {
	if g := t.contents().goTable(); g != nil {
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
	c := t.contents()
	if fn := c.frames().function(pc); fn != nil {
		return fn
	}
	return c.debugFrames().function(pc)
}

// begins reports whether a function with call frame information begins at a link-time
// address.
func (t *Table) begins(pc uint64) bool {
	fn := t.function(pc)
	return fn != nil && fn.start == pc
}

// Start returns the link-time start of the function with call frame information at a link-time
// address.
func (t *Table) Start(pc uint64) (start uint64, ok bool) {
	if fn := t.function(pc); fn != nil {
		return fn.start, true
	}
	return 0, false
}
