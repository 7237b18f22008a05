package calls

import (
	"encoding/binary"

	"ptools/internal/elfsym"
)

// goTypes names the dynamic types of interfaces, which the runtime describes in the program's read-only memory.
type goTypes struct {
	memory Memory
	fixed  constants // the same of what the process no longer has, because it has ended
	base   uint64    // of the runtime's types; 0: not known
	names  map[uint64]string
}

// Offsets in the descriptions of types (internal/abi.Type, ITab), which are the same since Go 1.7.
const (
	typeFlags = 20
	typeName  = 40
	tableType = 8
	extraStar = 1 << 1 // the name begins with a star that is not part of it
)

// newGoTypes finds the types of a Go program.
func newGoTypes(o *object, memory Memory, fixed constants) *goTypes {
	g := &goTypes{memory: memory, fixed: fixed, names: map[uint64]string{}}
	for _, s := range o.File.ByName("runtime.types") {
		if !o.ahead { // else it is not known where they will be
			g.base = s.Addr + o.Bias
		}
	}
	return g
}

// describe returns the text of an interface: the name of its dynamic type, and its word of data.
func (g *goTypes) describe(t *elfsym.Type, word, data uint64) string {
	if word == 0 {
		return "nil"
	}
	descriptor, ok := word, true
	if !g.empty(t) {
		descriptor, ok = g.read(word + tableType)
	}
	name := ""
	if ok {
		name = g.name(descriptor)
	}
	if name == "" {
		return unknown + "(" + hexWord(data) + ")"
	}
	return name + "(" + hexWord(data) + ")"
}

// empty reports whether an interface has no methods: its first word is the type then, and not a table of methods.
func (g *goTypes) empty(t *elfsym.Type) bool {
	f := t.Fields()
	return len(f) > 0 && f[0].Name == "_type"
}

func (g *goTypes) read(addr uint64) (uint64, bool) {
	var b [8]byte
	if g == nil || g.memory == nil {
		return 0, false
	}
	ok := g.readAt(b[:], addr)
	return binary.LittleEndian.Uint64(b[:]), ok
}

// readAt reads memory of the process, or, if that has ended, what its files have there.
func (g *goTypes) readAt(b []byte, addr uint64) bool {
	if _, err := g.memory.ReadAt(b, int64(addr)); err == nil {
		return true
	}
	fixed, ok := g.fixed.read(addr, uint64(len(b)))
	return ok && copy(b, fixed) == len(b)
}

// mostNames bounds how many names are kept, and mostName their length.
const (
	mostNames = 1 << 12
	mostName  = 256
)

// name returns the name of a type.
func (g *goTypes) name(descriptor uint64) string {
	if g == nil || g.base == 0 {
		return ""
	}
	if name, ok := g.names[descriptor]; ok {
		return name
	}
	name := g.readName(descriptor)
	if len(g.names) < mostNames {
		g.names[descriptor] = name
	}
	return name
}

// readName reads a name: flags, its length as a LEB128 number, and its bytes.
func (g *goTypes) readName(descriptor uint64) string {
	var head [typeName + 4]byte
	if !g.readAt(head[:], descriptor) {
		return ""
	}
	at := g.base + uint64(int64(int32(binary.LittleEndian.Uint32(head[typeName:]))))
	var b [3]byte
	if !g.readAt(b[:], at) {
		return ""
	}
	n, used := binary.Uvarint(b[1:])
	if used <= 0 || n == 0 {
		return ""
	}
	text := make([]byte, min(n, mostName))
	if !g.readAt(text, at+1+uint64(used)) {
		return ""
	}
	if head[typeFlags]&extraStar != 0 && text[0] == '*' {
		text = text[1:]
	}
	return string(text)
}
