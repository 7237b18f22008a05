package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
)

// btf is the running kernel's description of its own types (BTF). It says where the members of its structures
// are. Documentation/bpf/btf.rst has the format.
type btf struct {
	types   []byte // of all types, one after the other
	strings []byte
	offsets []uint32 // of each type in types; number 0 is void
}

// Kinds of types.
const (
	btfInt = 1 + iota
	btfPointer
	btfArray
	btfStruct
	btfUnion
	btfEnum
	btfForward
	btfTypedef
	btfVolatile
	btfConst
	btfRestrict
	btfFunc
	btfFuncProto
	btfVar
	btfDataSection
	btfFloat
	btfDeclTag
	btfTypeTag
	btfEnum64
)

const (
	btfMagic      = 0xeb9f
	btfHeaderSize = 24
	btfTypeSize   = 12 // name, info, size or type
	btfMemberSize = 12 // name, type, offset in bits
)

var errBTF = errors.New("kernel's types (BTF) not understood")

// ReadTypes returns why the kernel's types cannot be read; nil: they can.
func ReadTypes() error {
	_, err := readBTF()
	return err
}

// readBTF reads the types of the kernel.
func readBTF() (*btf, error) {
	b, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		return nil, err
	}
	return parseBTF(b)
}

func parseBTF(b []byte) (*btf, error) {
	le := binary.NativeEndian
	if len(b) < btfHeaderSize || le.Uint16(b) != btfMagic {
		return nil, errBTF
	}
	header := uint64(le.Uint32(b[4:]))
	part := func(at int) ([]byte, bool) {
		from := header + uint64(le.Uint32(b[at:]))
		to := from + uint64(le.Uint32(b[at+4:]))
		if to > uint64(len(b)) {
			return nil, false
		}
		return b[from:to], true
	}
	t := &btf{offsets: []uint32{0}}
	var ok1, ok2 bool
	t.types, ok1 = part(8)
	t.strings, ok2 = part(16)
	if !ok1 || !ok2 {
		return nil, errBTF
	}
	for at := uint64(0); at+btfTypeSize <= uint64(len(t.types)); {
		t.offsets = append(t.offsets, uint32(at))
		info := le.Uint32(t.types[at+4:])
		n := uint64(info & 0xffff)
		at += btfTypeSize
		switch info >> 24 & 0x1f {
		case btfInt, btfVar, btfDeclTag:
			at += 4
		case btfArray:
			at += 12
		case btfStruct, btfUnion, btfDataSection, btfEnum64:
			at += 12 * n
		case btfEnum, btfFuncProto:
			at += 8 * n
		case btfPointer, btfForward, btfTypedef, btfVolatile, btfConst, btfRestrict, btfFunc, btfFloat, btfTypeTag:
		default:
			return nil, errBTF
		}
		if at > uint64(len(t.types)) {
			return nil, errBTF
		}
	}
	return t, nil
}

// named reports whether the string at an offset is name.
func (t *btf) named(at uint32, name string) bool {
	end := uint64(at) + uint64(len(name))
	return end < uint64(len(t.strings)) && t.strings[end] == 0 && string(t.strings[at:end]) == name
}

// header returns the first words of a type.
func (t *btf) header(id uint32) (name, kind, n, size uint32, rest []byte) {
	if id == 0 || uint64(id) >= uint64(len(t.offsets)) {
		return 0, 0, 0, 0, nil
	}
	b, le := t.types[t.offsets[id]:], binary.NativeEndian
	info := le.Uint32(b[4:])
	return le.Uint32(b), info >> 24 & 0x1f, info & 0xffff, le.Uint32(b[8:]), b[btfTypeSize:]
}

// find returns the number of the type with a kind and a name, 0 if there is none.
func (t *btf) find(kind uint32, name string) uint32 {
	for id := uint32(1); int(id) < len(t.offsets); id++ {
		if at, k, _, _, _ := t.header(id); k == kind && t.named(at, name) {
			return id
		}
	}
	return 0
}

// A field is the offset and the size of a member of a structure, in bytes.
type field struct{ off, size int }

// member finds a member of a structure by its path, such as "se.sum_exec_runtime". Members of an anonymous structure
// count as members of the structure around it.
func (t *btf) member(structure, path string) (field, error) {
	id := t.find(btfStruct, structure)
	f := field{}
	for name := range strings.SplitSeq(path, ".") {
		off, next, ok := t.memberOf(id, name, 0)
		if former := formerNames[name]; !ok && former != "" {
			off, next, ok = t.memberOf(id, former, 0)
		}
		if !ok {
			return f, fmt.Errorf("%w: struct %s has no %s", errBTF, structure, path)
		}
		f.off += off
		id = next
	}
	f.size = t.sizeOf(id)
	return f, nil
}

// formerNames are the names that members of task_struct had in older kernels.
var formerNames = map[string]string{
	"__state": "state", // before Linux 5.14
}

// mostNested bounds how deep anonymous structures and modifiers are nested.
const mostNested = 16

func (t *btf) memberOf(id uint32, name string, depth int) (off int, typ uint32, ok bool) {
	id = t.plain(id)
	_, kind, n, _, rest := t.header(id)
	if kind != btfStruct && kind != btfUnion || depth > mostNested {
		return 0, 0, false
	}
	flagged := t.types[t.offsets[id]+7]&0x80 != 0 // offsets share their word with the sizes of bit fields
	le := binary.NativeEndian
	for ; n > 0; n-- {
		at, typ, bits := le.Uint32(rest), le.Uint32(rest[4:]), le.Uint32(rest[8:])
		rest = rest[btfMemberSize:]
		if flagged {
			if bits>>24 != 0 {
				continue // a bit field
			}
			bits &= 0xffffff
		}
		if t.named(at, name) {
			return int(bits / 8), typ, true
		}
		if t.named(at, "") {
			if off, typ, ok := t.memberOf(typ, name, depth+1); ok {
				return int(bits/8) + off, typ, true
			}
		}
	}
	return 0, 0, false
}

// plain takes typedefs and qualifiers off a type.
func (t *btf) plain(id uint32) uint32 {
	for range mostNested {
		switch _, kind, _, to, _ := t.header(id); kind {
		case btfTypedef, btfVolatile, btfConst, btfRestrict, btfTypeTag:
			id = to
		default:
			return id
		}
	}
	return id
}

// sizeOf returns the size of a type in bytes, 0 for kinds of types that are not needed here.
func (t *btf) sizeOf(id uint32) int {
	switch _, kind, _, size, _ := t.header(t.plain(id)); kind {
	case btfInt, btfStruct, btfUnion, btfEnum, btfEnum64:
		return int(size)
	case btfPointer:
		return 8
	}
	return 0
}
