package elfsym

import (
	"debug/dwarf"
	"slices"
)

// A Type is the type of a parameter, a member or what a pointer leads to. Typedefs and qualifiers are taken off; its name is that
// of the outermost one.
type Type struct {
	Kind TypeKind
	Name string
	Size uint64
	// ByReference: a C++ object that is passed by its address.
	ByReference bool
	// Known: debug information says whether it is passed by reference, or nothing but C can have it.
	Known bool
	at    typeEntry
}

// Reference reports whether the type is a C++ reference, of the kind Pointer.
func (t *Type) Reference() bool {
	tag := t.at.entry.tag
	return t.Kind == Pointer && (tag == dwarf.TagReferenceType || tag == dwarf.TagRvalueReferenceType)
}

// Vector reports whether the type is an array that is in a vector register, where there are such of its size.
func (t *Type) Vector() bool { return t.Kind == Array && t.at.entry.has(isVector) }

// A TypeKind is what kind of type it is.
type TypeKind uint8

const (
	UnknownType TypeKind = iota
	Void
	Int
	Uint
	Bool
	Char  // a signed number of one byte
	UChar // an unsigned one
	Float
	Pointer // references too
	Enum
	Struct // classes too
	Union
	Array
	GoString
	GoSlice
	GoInterface
	GoWord // a map, channel or function
)

// Kinds of types by the numbers of Go's reflect.Kind, which its debug information has.
const (
	kindChan      = 18
	kindFunc      = 19
	kindInterface = 20
	kindMap       = 21
	kindSlice     = 23
	kindString    = 24
)

// typeEntry is where a type is described.
type typeEntry struct {
	file  *File
	dwarf *dwarfFile // whose lock is to be held
	unit  *unit
	entry detail
}

// referred returns the type that a reference leads to.
func (r *typeReader) referred(u *unit, v value) *Type {
	t, dynamic := &Type{}, false
	for range 2 * mostOrigins {
		off, ok := r.follow(&u, v)
		if !ok {
			return t
		}
		e, ok := u.detailAt(off)
		if !ok {
			return t
		}
		if t.Name == "" {
			t.Name = u.str(e.name)
		}
		switch e.tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, tagAtomic, tagImmutable:
			dynamic = dynamic || e.goKind == kindInterface
			if e.goKind != 0 && goWord(e.goKind) {
				t.Kind, t.Size, t.Known = GoWord, 8, true
				return t
			}
			if !e.typ.set() {
				t.Kind = Void
				return t
			}
			v = e.typ
			continue
		}
		if e.typ.form == formRefSig8 && e.tag != dwarf.TagPointerType && e.tag != dwarf.TagReferenceType && e.tag != dwarf.TagRvalueReferenceType && e.tag != dwarf.TagArrayType {
			t.Kind, v = Struct, e.typ // it is in a unit of its own; perhaps an enumeration, if that cannot be found
			continue
		}
		t.at = typeEntry{r.file, r.dwarf, u, e}
		if r.fill(t, u, &e); dynamic {
			t.Kind = GoInterface
		}
		return t
	}
	return t
}

const (
	tagAtomic    dwarf.Tag = 0x47
	tagImmutable dwarf.Tag = 0x4b
)

// goWord reports whether values of a kind are one pointer that means nothing to people.
func goWord(kind uint8) bool { return kind == kindMap || kind == kindChan || kind == kindFunc }

// fill sets what the entry of a type says.
func (r *typeReader) fill(t *Type, u *unit, e *detail) {
	t.Size, t.Known = e.size.v, true
	switch e.tag {
	case dwarf.TagBaseType:
		t.Kind = baseKind(e.encoding, t.Size)
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType, dwarf.TagPtrToMemberType, dwarf.TagUnspecifiedType:
		t.Kind, t.Size = Pointer, 8
		switch {
		case goWord(e.goKind):
			t.Kind = GoWord
		case e.tag == dwarf.TagPtrToMemberType:
			t.Kind = UnknownType
		case e.tag == dwarf.TagUnspecifiedType && u.str(e.name) != "decltype(nullptr)":
			t.Kind, t.Size = Void, 0
		}
	case dwarf.TagSubroutineType:
		if goWord(e.goKind) {
			t.Kind, t.Size = GoWord, 8
		}
	case dwarf.TagEnumerationType:
		t.Kind = Enum
	case dwarf.TagUnionType:
		t.Kind = Union
		r.fillPassing(t, u, e)
	case dwarf.TagArrayType:
		t.Kind, t.Size = Array, r.arraySize(u, e)
	case dwarf.TagStructType, dwarf.TagClassType:
		r.fillStruct(t, u, e)
	}
}

// baseKind translates DWARF's encodings (DW_ATE_*).
func baseKind(encoding uint8, size uint64) TypeKind {
	switch {
	case encoding == 0x02:
		return Bool
	case encoding == 0x04:
		return Float
	case encoding == 0x05 || encoding == 0x0d:
		return Int
	case encoding == 0x06 && size == 1:
		return Char
	case encoding == 0x08 && size == 1:
		return UChar
	case encoding == 0x07 || encoding == 0x08 || encoding == 0x10 || encoding == 0x01:
		return Uint
	}
	return UnknownType
}

// fillStruct sets what kind of struct it is.
func (r *typeReader) fillStruct(t *Type, u *unit, e *detail) {
	t.Kind = Struct
	switch e.goKind {
	case kindString:
		t.Kind = GoString
		return
	case kindSlice:
		t.Kind = GoSlice
		return
	}
	r.fillPassing(t, u, e)
}

// arraySize returns the size of an array; 0 if it is not known.
func (r *typeReader) arraySize(u *unit, e *detail) uint64 {
	if e.size.set() {
		return e.size.v
	}
	n := r.arrayLen(u, e)
	elem := r.referred(u, e.typ)
	if elem.Size == 0 || n > 1<<30/elem.Size {
		return 0
	}
	return n * elem.Size
}

// arrayLen returns the number of elements; 0 if it is not known.
func (r *typeReader) arrayLen(u *unit, e *detail) uint64 {
	n := uint64(1)
	u.children(e.off, func(c *detail) bool {
		if c.tag != dwarf.TagSubrangeType {
			return true
		}
		switch {
		case c.count.set():
			n *= min(c.count.v, 1<<20)
		case c.bound.set() && c.bound.v < 1<<20:
			n *= c.bound.v + 1
		default:
			n = 0
		}
		return n < 1<<30
	})
	return n
}

// lock returns a reader of the types that t refers to; nil if t is none of some kinds.
func (t *Type) lock(kinds ...TypeKind) (*typeReader, func()) {
	d := t.at.dwarf
	if d == nil || !slices.Contains(kinds, t.Kind) {
		return nil, nil
	}
	d.mu.Lock()
	return &typeReader{t.at.file, d}, d.mu.Unlock
}

// Elem returns what a pointer leads to, or the elements of an array; nil if that is not known.
func (t *Type) Elem() *Type {
	r, unlock := t.lock(Pointer, Array)
	if r == nil {
		return nil
	}
	defer unlock()
	e := &t.at.entry
	if !e.typ.set() {
		return &Type{Kind: Void}
	}
	return r.referred(t.at.unit, e.typ)
}

// Len returns the number of elements of an array.
func (t *Type) Len() uint64 {
	r, unlock := t.lock(Array)
	if r == nil {
		return 0
	}
	defer unlock()
	return r.arrayLen(t.at.unit, &t.at.entry)
}

// A Field is a member of a struct, or a class that it inherits from, without a name.
type Field struct {
	Name string
	Off  uint64
	Bits bool // it is a bit field
	Base bool // it is a class that it inherits from
	Type *Type
}

// Fields returns the members of a struct or union that are in its objects.
func (t *Type) Fields() []Field {
	r, unlock := t.lock(Struct, Union, GoString, GoSlice, GoInterface)
	if r == nil {
		return nil
	}
	defer unlock()
	u, off := t.at.unit, t.at.entry.off
	if !t.at.entry.children || t.at.entry.has(isStatic) {
		return nil
	}
	var fields []Field
	u.children(off, func(e *detail) bool {
		if e.tag != dwarf.TagMember && e.tag != dwarf.TagInheritance || e.has(isStatic) || !e.typ.set() {
			return true
		}
		f := Field{Off: e.member.v, Bits: e.bits.set(), Base: e.tag == dwarf.TagInheritance, Type: r.referred(u, e.typ)}
		if e.tag == dwarf.TagMember {
			f.Name = u.str(e.name)
		}
		fields = append(fields, f)
		return true
	})
	return fields
}

// Enumerator returns the name of a value of an enumeration.
func (t *Type) Enumerator(n int64) (name string, ok bool) {
	t.enumerators(func(s string, v int64) bool {
		name, ok = s, v == n || t.Size < 8 && uint64(v)<<(64-8*t.Size) == uint64(n)<<(64-8*t.Size)
		return !ok
	})
	return name, ok
}

// Value returns the value that an enumeration has for a name.
func (t *Type) Value(name string) (n int64, ok bool) {
	t.enumerators(func(s string, v int64) bool {
		n, ok = v, s == name
		return !ok
	})
	return n, ok
}

func (t *Type) enumerators(visit func(name string, n int64) bool) {
	r, unlock := t.lock(Enum)
	if r == nil {
		return
	}
	defer unlock()
	u := t.at.unit
	u.children(t.at.entry.off, func(e *detail) bool {
		return e.tag != dwarf.TagEnumerator || visit(u.str(e.name), int64(e.constant.v))
	})
}

// Signed reports whether values of the type can be negative.
func (t *Type) Signed() bool {
	if t.Kind != Enum {
		return t.Kind == Int || t.Kind == Char
	}
	if t.at.entry.typ.set() {
		r, unlock := t.lock(Enum)
		if r == nil {
			return false
		}
		defer unlock()
		kind := r.referred(t.at.unit, t.at.entry.typ).Kind
		return kind == Int || kind == Char
	}
	negative := false
	t.enumerators(func(_ string, n int64) bool {
		negative = n < 0
		return !negative
	})
	return negative
}
