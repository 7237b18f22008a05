package elfsym

// A GoTable is the function table of a Go program (pclntab). The runtime needs
// the table, so stripped programs have it too. GoTable reads the layouts of Go
// 1.2, 1.16, 1.18 and 1.20 (runtime/symtab.go, internal/abi/symtab.go), and
// inlined calls from 1.18 on. All methods may be called from any goroutine.
type GoTable struct {
	file    *File
	addr    uint64 // of the table
	version goVersion
	quantum uint32 // smallest instruction
	nfunc   uint32
	text    uint64 // the base of entry offsets, from 1.18 on

	names view // NUL-terminated function names
	cutab view // per compilation unit: offsets in files
	files view // NUL-terminated file names
	pcs   view // pc-value tables
	funcs view // function records
	ftab  []byte

	module  lazy[goModule]
	wrapper lazy[uint8]
	cache   pages[goFunc]
}

type goVersion uint8

const (
	go12 goVersion = iota + 1
	go116
	go118
	go120
)

// goMagics are the first four bytes of the table by version.
var goMagics = map[uint32]goVersion{
	0xfffffffb: go12,
	0xfffffffa: go116,
	0xfffffff0: go118,
	0xfffffff1: go120,
}

// Go returns the table of Go functions, and false if the file is not a Go
// program or its table is invalid.
func (f *File) Go() (*GoTable, bool) {
	g := f.contents().goTable.get(func() *GoTable {
		if f.debug {
			return nil
		}
		return f.findGoTable()
	})
	return g, g != nil
}

// goHeader is the start of a table: the magic number, two zeros, the smallest
// instruction, the pointer size, then pointer-sized words.
const goHeader = 8

// openGoTable reads the header of the table in v, which is at addr.
func openGoTable(f *File, v view, addr uint64) *GoTable {
	h := v.upTo(0, goHeader+8*8)
	if len(h) < goHeader+2*8 || h[4] != 0 || h[5] != 0 || h[7] != 8 {
		return nil
	}
	g := &GoTable{file: f, addr: addr, version: goMagics[le.Uint32(h)], quantum: uint32(h[6])}
	if g.version == 0 || g.quantum != 1 && g.quantum != 2 && g.quantum != 4 {
		return nil
	}
	word := func(i int) uint64 { return le.Uint64(h[goHeader+8*i:]) }
	n := word(0)
	from := func(i int) view { return v.sub(word(i), maxLoad) }
	switch {
	case n == 0 || n > maxSymbols:
		return nil
	case g.version == go12:
		g.names, g.pcs, g.funcs = v, v, v
	case len(h) < goHeader+8*8:
		return nil
	case g.version == go116:
		g.names, g.cutab, g.files, g.pcs, g.funcs = from(2), from(3), from(4), from(5), from(6)
	default:
		g.text = word(2) // 0 from 1.26 on
		g.names, g.cutab, g.files, g.pcs, g.funcs = from(3), from(4), from(5), from(6), from(7)
	}
	g.nfunc = uint32(n)
	if !g.loadFuncs(v) || !g.findText() {
		return nil
	}
	g.cache = newPages[goFunc](int(g.nfunc))
	return g
}

// loadFuncs reads the table of entries into memory: pairs of an entry and the
// offset of its record, and the end of the last function.
func (g *GoTable) loadFuncs(v view) bool {
	at, in := uint64(0), g.funcs
	if g.version == go12 {
		at, in = goHeader+8, v
	}
	if !g.file.borrow(int(uint64(2*g.nfunc+1) * g.field())) {
		return false
	}
	var ok bool
	if g.ftab, ok = in.bytes(at, uint64(2*g.nfunc+1)*g.field()); !ok {
		return false
	}
	if g.version < go118 && g.file.hdr.kind == etDyn {
		// Entries are addresses, and only the relocations have them. The
		// bytes that were read may be shared, so they are copied.
		b := append([]byte(nil), g.ftab...)
		if g.file.relocated(b, g.addr+at+uint64(in.off-v.off)) {
			g.ftab = b
		}
	}
	if g.version == go12 {
		end, ok := v.u32(at + uint64(len(g.ftab)))
		g.files = v.sub(uint64(end), maxLoad)
		return ok
	}
	return true
}

// field returns the size of a field of the table of entries.
func (g *GoTable) field() uint64 {
	if g.version >= go118 {
		return 4
	}
	return 8
}

// entry returns the address of function i. For i = nfunc it is the end of the
// last function.
func (g *GoTable) entry(i uint32) uint64 {
	if g.version >= go118 {
		return g.text + uint64(le.Uint32(g.ftab[8*i:]))
	}
	return le.Uint64(g.ftab[16*uint64(i):])
}

// record returns the offset of the record of function i.
func (g *GoTable) record(i uint32) uint64 {
	if g.version >= go118 {
		return uint64(le.Uint32(g.ftab[8*i+4:]))
	}
	return le.Uint64(g.ftab[16*uint64(i)+8:])
}

// find returns the number of the function that covers pc.
func (g *GoTable) find(pc uint64) (uint32, bool) {
	if pc < g.entry(0) || pc >= g.entry(g.nfunc) {
		return 0, false
	}
	lo, hi := uint32(0), g.nfunc
	for lo < hi {
		m := (lo + hi) / 2
		if g.entry(m) <= pc {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1, lo > 0
}
