package elfsym

import (
	"cmp"
	"debug/elf"
	"strings"
)

// Kind says what a symbol stands for.
type Kind uint8

const (
	Func   Kind = iota + 1 // a function
	IFunc                  // a function that returns the function to call (STT_GNU_IFUNC)
	PLT                    // a stub of the procedure linkage table
	Object                 // data
	Label                  // a label in assembler code: no type, often no size
	Go                     // a Go function, known from pclntab
	JIT                    // code made at run time, known from a perf map
)

var kindNames = [...]string{"none", "func", "ifunc", "plt", "object", "label", "go", "jit"}

func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		k = 0
	}
	return kindNames[k]
}

// A Sym is one symbol.
type Sym struct {
	// Name is demangled. It has no default version, but any other: memcpy,
	// and memcpy@GLIBC_2.2.5. PLT stubs are name@plt.
	Name string
	// Raw is the name as it is in the file.
	Raw string
	// Addr is the link-time address. Size is in bytes. For a symbol without a
	// size it is the distance to the next symbol of its section.
	Addr, Size uint64
	Kind       Kind
}

// Symbol returns the function that covers a link-time address. Among several
// symbols at one address it prefers functions to labels, global and weak ones
// to local ones, and those with a size, a default version, few leading
// underscores, a short name. If functions are nested, it returns the
// innermost. A repeated call takes about 100 ns and allocates nothing.
func (f *File) Symbol(vaddr uint64) (Sym, bool) {
	f.touch()
	if g, ok := f.Go(); ok {
		if fn, ok := g.Func(vaddr); ok {
			return fn.symbol(), true
		}
	}
	if s, ok := f.pltSymbol(vaddr); ok {
		return s, true
	}
	x := f.addrs()
	if i, ok := x.find(vaddr); ok {
		if s := x.at(i); s.Raw != "" {
			return *s, true
		}
	}
	return Sym{}, false
}

// addrs returns the index over all symbol tables of this file: its own, and
// if it is stripped also those of its debug file or of .gnu_debugdata.
func (f *File) addrs() *addrIndex {
	return f.contents().index.get(func() *addrIndex { return newAddrIndex(f, f.allTables()) })
}

// allTables returns the symbol tables in which functions of f are defined.
func (f *File) allTables() []*symTable {
	own := f.symTables()
	if len(own) > 0 && own[0].dyn == nil {
		return own
	}
	if o := f.separate(); o != nil && len(o.symTables()) > 0 {
		return append(o.symTables()[:1:1], own...)
	}
	if m := f.miniDebug(); m != nil && len(m.symTables()) > 0 {
		return append(m.symTables()[:1:1], own...)
	}
	return own
}

// A candidate is one of several symbols with the same address or name.
type candidate struct {
	raw       rawSym
	name      string // without version
	version   string
	isDefault bool
	rank      uint8
}

// candidate reads the name and version of symbol i of t.
func (t *symTable) candidate(i uint32, s *rawSym) candidate {
	c := candidate{raw: *s, name: t.name(s), isDefault: true}
	if t.dyn != nil {
		c.version, c.isDefault = t.dyn.version(i)
	} else if at := strings.IndexByte(c.name, '@'); at > 0 {
		// .symtab has the version in the name.
		c.isDefault = strings.HasPrefix(c.name[at:], "@@")
		c.version = strings.TrimLeft(c.name[at:], "@")
		c.name = c.name[:at]
	}
	c.rank = rank(s) << 1
	if !c.isDefault {
		c.rank++
	}
	return c
}

// rank orders symbols by kind, binding and size; lower is better. A candidate's rank has one bit more, for not being
// the default version.
func rank(s *rawSym) uint8 {
	r := uint8(0)
	if s.kind() == elf.STT_NOTYPE {
		r += 4
	}
	if s.bind() == elf.STB_LOCAL {
		r += 2
	}
	if s.size == 0 {
		r++
	}
	return r
}

// compare is negative if c is a better name for the address than d. It is a
// total order over distinct names, so the choice is stable.
func (c *candidate) compare(d *candidate) int {
	return cmp.Or(
		cmp.Compare(c.rank, d.rank),
		cmp.Compare(underscores(c.name), underscores(d.name)),
		cmp.Compare(c.notGlobal(), d.notGlobal()),
		cmp.Compare(len(c.name), len(d.name)),
		cmp.Compare(c.name, d.name),
	)
}

func (c *candidate) notGlobal() int {
	if c.raw.bind() == elf.STB_GLOBAL {
		return 0
	}
	return 1
}

// underscores counts leading underscores, except those that begin a mangled
// name.
func underscores(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "_"))
	if mangled(s) {
		n--
	}
	return n
}

func (c *candidate) symbol() Sym {
	s := Sym{Name: demangled(c.name), Raw: c.name, Addr: c.raw.value, Size: c.raw.size}
	if !c.isDefault && c.version != "" {
		s.Name += "@" + c.version
	}
	switch c.raw.kind() {
	case elf.STT_FUNC:
		s.Kind = Func
	case elf.STT_GNU_IFUNC:
		s.Kind = IFunc
	case elf.STT_OBJECT:
		s.Kind = Object
	default:
		s.Kind = Label
	}
	return s
}
