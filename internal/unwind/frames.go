package unwind

import (
	"sync"
	"sync/atomic"
)

// A frames is one section of call frame information: an index over its FDEs, and
// the functions compiled so far.
//
// A look-up takes no lock: the index is immutable and every compiled function is
// published by one atomic store. Two goroutines that need the same new function may
// both compile it; either result stays.
type frames struct {
	sec   section
	index index
	slots []atomic.Pointer[slotBlock]
	costs budget

	mu   sync.Mutex
	cies map[int64]*cie // by offset; under mu
}

// A slotBlock holds the functions of slotsPerBlock neighbouring FDEs. So an
// object that executes little of its code costs little.
type slotBlock [slotsPerBlock]atomic.Pointer[function]

const slotsPerBlock = 64

// maxCIEs bounds the CIEs that are kept parsed; there are a handful in real files.
const maxCIEs = 1 << 10

// instructionCost is the work for a byte of a call frame program. The sizes are those of a compiled function and its parts.
const (
	instructionCost = 4
	functionSize    = 128
	rowSize         = 16
	savedSize       = 12
)

// noFunction stands in a slot for an FDE that cannot be used.
var noFunction = &function{}

// newFrames prepares a section; hdr is the contents of .eh_frame_hdr at hdrAddr, or nil.
func newFrames(sec section, hdrAddr uint64, hdr []byte, costs budget) *frames {
	f := &frames{sec: sec, costs: costs, cies: make(map[int64]*cie)}
	if t := newSearchTable(hdrAddr, hdr, sec.addr); t != nil {
		f.index = t
	} else {
		f.index = newLinearIndex(&f.sec, f.cie, costs)
	}
	f.slots = make([]atomic.Pointer[slotBlock], (f.index.len()+slotsPerBlock-1)/slotsPerBlock)
	return f
}

// cie returns the parsed CIE at an offset of the section.
func (f *frames) cie(off int64) (*cie, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ci := f.cies[off]; ci != nil {
		return ci, nil
	}
	ci, err := f.sec.cieAt(off)
	if err != nil {
		return nil, err
	}
	if len(f.cies) < maxCIEs {
		f.cies[off] = ci
	}
	return ci, nil
}

// function returns the compiled function that covers a link-time address, or nil.
func (f *frames) function(pc uint64) *function {
	if f == nil {
		return nil
	}
	i, off, ok := f.index.find(pc)
	if !ok {
		return nil
	}
	block := f.slots[i/slotsPerBlock].Load()
	if block == nil {
		if !f.costs.Keep(8 * slotsPerBlock) {
			return nil
		}
		block = new(slotBlock)
		if !f.slots[i/slotsPerBlock].CompareAndSwap(nil, block) {
			block = f.slots[i/slotsPerBlock].Load()
		}
	}
	slot := &block[i%slotsPerBlock]
	fn := slot.Load()
	if fn == nil {
		fn = f.compileAt(off)
		slot.Store(fn)
	}
	if pc < fn.start || pc >= fn.end {
		return nil
	}
	return fn
}

func (f *frames) compileAt(off int64) *function {
	d, err := f.sec.fdeAt(off, f.cie)
	if err != nil {
		return noFunction
	}
	if !f.costs.Spend(instructionCost * (len(d.cie.program) + len(d.program))) { // any number of entries may have the same program
		return noFunction
	}
	fn, err := compile(&d, f.sec.base)
	if err != nil || !f.costs.Keep(functionSize+rowSize*len(fn.rows)+savedSize*len(fn.saved)) {
		return noFunction
	}
	return fn
}
