package elfsym

import (
	"debug/elf"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// pltTable names the stubs of the procedure linkage tables of an x86-64 file.
// The ranges are read at once. The stubs are decoded when a pc falls in a
// range.
type pltTable struct {
	file     *File
	sections []*section
	once     sync.Once
	stubs    []Sym // by address
}

// maxPLT is the most bytes of one section that are decoded.
const maxPLT = 4 << 20

func (f *File) pltTab() *pltTable {
	return f.contents().plt.get(func() *pltTable {
		t := &pltTable{file: f}
		if f.hdr.machine != elf.EM_X86_64 {
			return t
		}
		for i := range f.hdr.sections {
			s := &f.hdr.sections[i]
			switch s.name {
			case ".plt", ".plt.got", ".plt.sec", ".plt.bnd", ".iplt":
				if s.kind == elf.SHT_PROGBITS && s.flags&elf.SHF_EXECINSTR != 0 {
					t.sections = append(t.sections, s)
				}
			}
		}
		return t
	})
}

// pltSymbol returns the stub that covers addr.
func (f *File) pltSymbol(addr uint64) (Sym, bool) {
	t := f.pltTab()
	for _, s := range t.sections {
		if addr-s.addr < s.size {
			return t.at(addr)
		}
	}
	return Sym{}, false
}

func (t *pltTable) at(addr uint64) (Sym, bool) {
	stubs := t.all()
	i := sort.Search(len(stubs), func(i int) bool { return stubs[i].Addr > addr }) - 1
	if i < 0 || addr-stubs[i].Addr >= stubs[i].Size {
		return Sym{}, false
	}
	return stubs[i], true
}

// byName returns the stubs with that raw or demangled name, `malloc@plt`.
func (t *pltTable) byName(name string) []Sym {
	var found []Sym
	for _, s := range t.all() {
		if s.Raw == name || s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

func (t *pltTable) all() []Sym {
	t.once.Do(func() {
		if len(t.sections) == 0 {
			return
		}
		slots := t.slots()
		for _, s := range t.sections {
			t.stubs = append(t.stubs, t.decode(s, slots)...)
		}
		sort.SliceStable(t.stubs, func(i, j int) bool { return t.stubs[i].Addr < t.stubs[j].Addr })
	})
	return t.stubs
}

// pltSlots has the relocations of GOT slots: by address, and the lazily bound
// ones in order, because a lazy stub pushes the number of its relocation.
type pltSlots struct {
	byAddr map[uint64]reloc
	lazy   []reloc
}

const (
	maxSlots  = 1 << 18
	maxRelocs = 1 << 24 // that are looked at: sections may overlap
)

func (t *pltTable) slots() pltSlots {
	p := pltSlots{byAddr: make(map[uint64]reloc)}
	seen := 0
	t.file.relocs(func(r reloc) bool {
		seen++
		switch elf.R_X86_64(r.kind) {
		case elf.R_X86_64_JMP_SLOT, elf.R_X86_64_IRELATIVE:
			p.lazy = append(p.lazy, r)
			p.byAddr[r.off] = r
		case elf.R_X86_64_GLOB_DAT:
			p.byAddr[r.off] = r
		}
		return len(p.byAddr) < maxSlots && len(p.lazy) < maxSlots && seen < maxRelocs
	})
	return p
}

// decode names the stubs of one section. A stub jumps through its GOT slot
// (`jmp *disp(%rip)`, with or without endbr64 and bnd); with IBT those in .plt
// push the number of their relocation instead and .plt.sec has the jumps.
func (t *pltTable) decode(s *section, slots pltSlots) []Sym {
	code := s.view(t.file.file).upTo(0, maxPLT)
	size := 16
	if s.entsize == 8 {
		size = 8
	}
	var stubs []Sym
	for at := 0; at+size <= len(code); at += size {
		addr, stub := s.addr+uint64(at), code[at:at+size]
		name := ""
		switch r, ok := pltReloc(addr, stub, slots); {
		case ok:
			name = t.target(r)
		case stub[0] == 0xff && stub[1] == 0x35: // push the link map: the entry that all lazy stubs jump to
			stubs = append(stubs, Sym{Name: ".plt", Raw: ".plt", Addr: addr, Size: uint64(size), Kind: PLT})
		}
		if name != "" && t.file.budget.keep(uint64(96+2*len(name))) {
			stubs = append(stubs, Sym{Name: demangled(name) + "@plt", Raw: name + "@plt", Addr: addr, Size: uint64(size), Kind: PLT})
		}
	}
	return stubs
}

func pltReloc(addr uint64, stub []byte, slots pltSlots) (reloc, bool) {
	if stub[0] == 0xff && stub[1] == 0x35 {
		return reloc{}, false
	}
	for i := 0; i+6 <= len(stub); i++ {
		if stub[i] == 0xff && stub[i+1] == 0x25 {
			slot := addr + uint64(i) + 6 + uint64(int64(int32(le.Uint32(stub[i+2:]))))
			if r, ok := slots.byAddr[slot]; ok {
				return r, true
			}
		}
	}
	if len(stub) == 16 && le.Uint32(stub) == 0xfa1e0ff3 && stub[4] == 0x68 { // endbr64; push n
		if n := le.Uint32(stub[5:]); uint64(n) < uint64(len(slots.lazy)) {
			return slots.lazy[n], true
		}
	}
	return reloc{}, false
}

// target returns the name of the function that a slot will point to. An
// IRELATIVE slot has no symbol, but the address of a resolver with the
// function's name.
func (t *pltTable) target(r reloc) string {
	if elf.R_X86_64(r.kind) == elf.R_X86_64_IRELATIVE {
		x := t.file.addrs()
		if i, ok := x.find(uint64(r.addend)); ok {
			if s := x.at(i); s.Addr == uint64(r.addend) {
				return s.Raw
			}
		}
		return fmt.Sprintf("*ABS*+%#x", uint64(r.addend))
	}
	for _, st := range t.file.symTables() {
		if st.dyn != nil {
			if s, ok := st.sym(r.sym); ok {
				name, _, _ := strings.Cut(st.name(&s), "@")
				return name
			}
		}
	}
	return ""
}
