package elfsym

import (
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Bits of GoFunc.Flags (internal/abi/symtab.go).
const (
	GoTopFrame = 1 << iota // the stack ends here: goexit, mstart, …
	GoSPWrite              // sets SP to a value that no table has
	GoAsm                  // written in assembler
)

// A GoFunc is a function of a Go program.
type GoFunc struct {
	Name       string
	Entry, End uint64 // link-time addresses
	Flags      uint8  // GoTopFrame, …; 0 before Go 1.17
}

func (f *GoFunc) symbol() Sym {
	return Sym{Name: f.Name, Raw: f.Name, Addr: f.Entry, Size: f.End - f.Entry, Kind: Go}
}

// goFunc is a decoded record of a function.
type goFunc struct {
	GoFunc
	pcsp, pcfile, pcln uint32 // offsets of pc-value tables
	inlIndex           uint32 // the same of PCDATA_InlTreeIndex, 0 if there is none
	inlTree            uint32 // offset of FUNCDATA_InlTree, noFuncdata if there is none
	cu                 uint32 // start of its compilation unit in cutab
	id                 uint8  // its FuncID (internal/abi/symtab.go), from 1.18 on
	sp                 struct {
		once sync.Once
		rows []pcRow
	}
}

const noFuncdata = ^uint32(0)

// Func returns the function that covers a link-time pc. Repeated calls
// allocate nothing.
func (g *GoTable) Func(pc uint64) (GoFunc, bool) {
	f := g.at(pc)
	if f == nil {
		return GoFunc{}, false
	}
	return f.GoFunc, true
}

// SPDelta returns how many bytes the function that covers pc has on the stack
// at pc, below its return address. It returns false if no table has that.
// Repeated calls allocate nothing.
func (g *GoTable) SPDelta(pc uint64) (int32, bool) {
	f := g.at(pc)
	if f == nil || f.pcsp == 0 {
		return 0, false
	}
	f.sp.once.Do(func() {
		g.eachPC(f.pcsp, func(r pcRow) bool {
			f.sp.rows = append(f.sp.rows, r)
			return true
		})
		if f.sp.rows = slices.Clip(f.sp.rows); !g.file.budget.keep(8 * uint64(len(f.sp.rows))) {
			f.sp.rows = nil
		}
	})
	rows, off := f.sp.rows, uint32(pc-f.Entry)
	i := sort.Search(len(rows), func(i int) bool { return rows[i].end > off })
	if i == len(rows) {
		return 0, false
	}
	return rows[i].value, true
}

// at returns the function that covers pc, nil if there is none.
func (g *GoTable) at(pc uint64) *goFunc {
	i, ok := g.find(pc)
	if !ok {
		return nil
	}
	f := g.cache.slot(int(i))
	if f.Load() == nil {
		r := g.read(i)
		if !g.file.budget.keep(uint64(256 + len(r.Name))) {
			r.Name = ""
		}
		f.CompareAndSwap(nil, r)
	}
	return f.Load()
}

// Offsets in a function's record after its entry.
const (
	recName    = 0
	recPCSP    = 12
	recPCFile  = 16
	recPCLn    = 20
	recNPCData = 24
	recCU      = 28 // from 1.16 on
)

const (
	pcdataInlTree   = 2
	funcdataInlTree = 3
)

// read decodes the record of function i. A record outside of the table gives a
// function without a name.
func (g *GoTable) read(i uint32) *goFunc {
	f := &goFunc{GoFunc: GoFunc{Entry: g.entry(i), End: g.entry(i + 1)}, inlTree: noFuncdata}
	if f.End < f.Entry {
		f.End = f.Entry
	}
	b := g.funcs.upTo(g.record(i)+g.field(), 256)
	tail := map[goVersion]int{go12: recCU, go116: recCU + 4, go118: recCU + 4, go120: recCU + 8}[g.version]
	if len(b) < tail+4 {
		return f
	}
	f.Name, _ = g.names.cstring(uint64(le.Uint32(b[recName:])))
	f.pcsp, f.pcfile, f.pcln = le.Uint32(b[recPCSP:]), le.Uint32(b[recPCFile:]), le.Uint32(b[recPCLn:])
	if g.version >= go116 {
		f.cu = le.Uint32(b[recCU:])
	}
	if g.version == go12 {
		return f
	}
	f.Flags = b[tail+1]
	if g.version >= go118 {
		f.id = b[tail]
		npc, nfd := uint64(le.Uint32(b[recNPCData:])), uint64(b[tail+3])
		arrays := g.record(i) + g.field() + uint64(tail) + 4
		if npc > pcdataInlTree && nfd > funcdataInlTree && npc < 64 {
			f.inlIndex, _ = g.funcs.u32(arrays + 4*pcdataInlTree)
			if t, ok := g.funcs.u32(arrays + 4*npc + 4*funcdataInlTree); ok {
				f.inlTree = t
			}
		}
	}
	return f
}

// A pcRow is a value and the offset from the function's entry up to which it
// holds.
type pcRow struct {
	end   uint32
	value int32
}

// maxPCTable bounds the bytes of one function's pc-value table.
const maxPCTable = 1 << 20

// eachPC decodes the pc-value table at off: pairs of varints, the change of
// the value (zigzag) and the length of code for which it holds, up to a change
// of zero (runtime.step).
func (g *GoTable) eachPC(off uint32, f func(r pcRow) bool) {
	b := g.pcs.upTo(uint64(off), 512)
	short := len(b) < 512
	value, pc := int32(-1), uint32(0)
	for first, used := true, 0; used < maxPCTable; first = false {
		if len(b) < 2*binary.MaxVarintLen32 && !short {
			b = g.pcs.upTo(uint64(off)+uint64(used), 4096)
			short = len(b) < 4096
		}
		change, n := binary.Uvarint(b)
		if n <= 0 || change == 0 && !first {
			return
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return
		}
		b, used = b[n+m:], used+n+m
		value += int32(uint32(change)>>1) ^ -int32(change&1)
		pc += uint32(length) * g.quantum
		if !f(pcRow{pc, value}) {
			return
		}
	}
}

// value returns the value of the table at off for pc, -1 if it has none.
func (g *GoTable) value(f *goFunc, off uint32, pc uint64) int32 {
	v := int32(-1)
	if off != 0 && pc >= f.Entry {
		g.eachPC(off, func(r pcRow) bool {
			if pc-f.Entry < uint64(r.end) {
				v = r.value
				return false
			}
			return true
		})
	}
	return v
}

// byName returns the functions that a name means: those of that very name, or else those of a name that users write.
func (g *GoTable) byName(name string) []Sym {
	if strings.IndexByte(name, 0) >= 0 {
		return nil
	}
	exact := uint32(0)
	pat := []byte(name + "\x00")
	g.names.find(pat, func(off uint64, b []byte, p int) bool {
		if p == 0 && off == 0 || p > 0 && b[p-1] == 0 {
			exact = uint32(off) + uint32(p)
			return false
		}
		return true
	})
	if exact != 0 {
		return g.named(map[uint32]bool{exact: true})
	}
	if q, ok := newGoQuery(name); ok {
		return g.named(g.places(&q))
	}
	return nil
}

// named returns the functions whose names are at some offsets.
func (g *GoTable) named(places map[uint32]bool) []Sym {
	if len(places) == 0 {
		return nil
	}
	// The records are in the order of the table, so a piece has many of them.
	var found []Sym
	var piece []byte
	start := uint64(0)
	for i := uint32(0); i < g.nfunc && len(found) < maxFound; i++ {
		off := g.record(i) + g.field() + recName
		if off < start || off-start+4 > uint64(len(piece)) {
			if piece, start = g.funcs.upTo(off, 64<<10), off; len(piece) < 4 {
				continue
			}
		}
		if places[le.Uint32(piece[off-start:])] {
			f := g.read(i)
			found = append(found, f.symbol())
		}
	}
	return found
}
