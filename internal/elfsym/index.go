package elfsym

import (
	"cmp"
	"debug/elf"
	"slices"
)

// An addrIndex finds the symbols that cover an address. Addresses are divided
// into segments, which are in one sorted array. For each segment one group of
// symbols (all those with the same address) is the innermost that covers it.
// The index takes 12 bytes a segment and 4 a symbol, and has no names.
type addrIndex struct {
	tables []*symTable
	budget *budget
	cover           // owners are the first place of a group in refs
	refs   []uint32 // symbols by address: table, number, whether the group continues

	cache pages[Sym] // resolved symbols, by segment
}

const (
	refMore    = 1 << 31 // the next ref belongs to the same group
	refLabel   = 1 << 30 // not a function; only while the index is built
	refTable   = 28      // shift of the 2-bit table number
	refSymbol  = 1<<refTable - 1
	maxAliases = 256     // symbols at one address that are looked at
	maxIndexed = 2 << 20 // symbols in an index, which bounds its memory

	indexedSize = 4 + 12 // bytes for each symbol, if there are no gaps
	locatedSize = 16     // of a located
)

// located is a symbol while the index is built.
type located struct {
	addr uint64
	size uint32 // saturated
	ref  uint32
}

// codeSymbols calls fn with the functions and code labels of tables.
func (f *File) codeSymbols(tables []*symTable, fn func(l located)) {
	n := 0
	for number, t := range tables {
		t.scan(func(i uint32, s rawSym) bool {
			kind := s.kind()
			if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC && kind != elf.STT_NOTYPE || !s.defined() {
				return true
			}
			if _, ok := f.textEnd(s.value); !ok {
				return true
			}
			l := located{s.value, uint32(min(s.size, 1<<32-1)), uint32(number)<<refTable | i}
			if kind == elf.STT_NOTYPE {
				if f.hdr.machine == elf.EM_AARCH64 && t.isMapping(&s) {
					return true
				}
				l.ref |= refLabel
			}
			fn(l)
			n++
			return n < maxIndexed
		})
		if n >= maxIndexed {
			return
		}
	}
}

// newAddrIndex builds the index over the functions and code labels of tables.
func newAddrIndex(f *File, tables []*symTable) *addrIndex {
	x := &addrIndex{tables: tables[:min(len(tables), 4)], budget: f.budget}
	// Counting first is cheaper than growing, and takes no more memory than
	// the index keeps.
	count := 0
	f.codeSymbols(x.tables, func(located) { count++ })
	if !f.borrow(indexedSize * count) {
		return x
	}
	building := uint64(locatedSize * count)
	if !f.borrow(int(building)) {
		return x
	}
	defer f.repay(building)
	all := make([]located, 0, count)
	f.codeSymbols(x.tables, func(l located) {
		if len(all) < count { // the file may have changed
			all = append(all, l)
		}
	})
	slices.SortFunc(all, func(a, b located) int {
		if a.addr != b.addr { // cmp.Or would compare both, which takes a fifth of the time for the index
			return cmp.Compare(a.addr, b.addr)
		}
		return cmp.Compare(a.ref, b.ref)
	})
	x.refs = make([]uint32, len(all))
	x.starts, x.owners = make([]uint64, 0, len(all)), make([]uint32, 0, len(all))
	w := sweep{x: x}
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j].addr == all[i].addr {
			j++
		}
		for k := i; k < j; k++ {
			x.refs[k] = all[k].ref &^ refLabel
			if k+1 < j {
				x.refs[k] |= refMore
			}
		}
		limit, _ := f.textEnd(all[i].addr)
		next := limit
		if j < len(all) {
			next = min(limit, all[j].addr)
		}
		w.add(all[i].addr, extent(all[i:j]), uint32(i), limit, next)
		i = j
	}
	w.closeUntil(^uint64(0))
	x.clip()
	x.cache = newPages[Sym](len(x.starts))
	if !f.borrow(x.bytes() - indexedSize*count) {
		return &addrIndex{budget: f.budget}
	}
	return x
}

// bytes returns how much memory the index takes, apart from symbols that were looked up.
func (x *addrIndex) bytes() int { return 12*len(x.starts) + 4*len(x.refs) + len(x.starts)/pageLen*8 }

// extent returns the length of a group: the longest of its functions, or of
// its labels if it has only those.
func extent(g []located) uint64 {
	var fn, label uint32
	for i := range g {
		if g[i].ref&refLabel != 0 {
			label = max(label, g[i].size)
		} else {
			fn = max(fn, g[i].size)
		}
	}
	if fn == 0 {
		fn = label
	}
	return uint64(fn)
}

// sweep walks the groups by address and writes the segments. open has the
// groups that have begun and may not have ended, the innermost last.
type sweep struct {
	x    *addrIndex
	open []openGroup
}

type openGroup struct {
	end   uint64
	group uint32
}

// add begins a group. A group without a size reaches to the next symbol or
// the end of its section, but only where no group with a size covers it.
func (w *sweep) add(addr, size uint64, group uint32, limit, next uint64) {
	w.closeUntil(addr)
	if size == 0 {
		if len(w.open) > 0 {
			return
		}
		size = next - addr
	}
	w.open = append(w.open, openGroup{min(limit, addr+size), group})
	w.x.emit(addr, group)
}

// closeUntil ends the groups that end at addr or before it.
func (w *sweep) closeUntil(addr uint64) {
	for len(w.open) > 0 {
		end := w.open[len(w.open)-1].end
		if end > addr {
			return
		}
		for len(w.open) > 0 && w.open[len(w.open)-1].end <= end {
			w.open = w.open[:len(w.open)-1]
		}
		group := uint32(unowned)
		if n := len(w.open); n > 0 {
			group = w.open[n-1].group
		}
		w.x.emit(end, group)
	}
}

// at returns the symbol of segment i. It resolves the symbol at most a few
// times.
func (x *addrIndex) at(i int) *Sym {
	s := x.cache.slot(i)
	if s.Load() == nil {
		r := x.resolve(i)
		if !x.budget.keep(uint64(64 + len(r.Name) + len(r.Raw))) {
			r = &Sym{}
		}
		s.CompareAndSwap(nil, r)
	}
	return s.Load()
}

// resolve reads the aliases of segment i and chooses one.
func (x *addrIndex) resolve(i int) *Sym {
	var best candidate
	g := x.owners[i]
	for n := 0; n < maxAliases; n++ {
		ref := x.refs[int(g)+n]
		t := x.tables[ref>>refTable&3]
		if s, ok := t.sym(ref & refSymbol); ok {
			if c := t.candidate(ref&refSymbol, &s); n == 0 || c.compare(&best) < 0 {
				best = c
			}
		}
		if ref&refMore == 0 {
			break
		}
	}
	s := best.symbol()
	if s.Size == 0 && i+1 < len(x.starts) {
		s.Size = x.starts[i+1] - s.Addr
	}
	return &s
}
