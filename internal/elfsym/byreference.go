package elfsym

import (
	"debug/dwarf"
	"strings"
)

// deepestClass bounds the classes in classes.
const deepestClass = 8

// A passing is how objects of a C++ class are passed.
type passing uint8

const (
	byValue passing = iota
	byAddress
	byRules // of the compiler's own: GCC passes objects on the stack that hold one which may not be copied
)

// fillPassing sets how objects of a struct or union are passed.
func (r *typeReader) fillPassing(t *Type, u *unit, e *detail) {
	t.ByReference = e.call == callReference
	switch u.language {
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a: // C++
		switch t.Known = !e.has(isStatic); {
		case e.call != 0:
		case u.lacksDefaulted():
			t.Known = t.Known && r.passing(u, e, 0) == byValue
		default:
			how := r.passing(u, e, 0)
			t.ByReference, t.Known = how == byAddress, t.Known && how != byRules
		}
	}
}

// passing finds out how objects of a C++ class are passed, where debug information does not say so: by their address if
// they have a destructor or a constructor from another object that the compiler has not made, or only such constructors that may not be called,
// virtual functions or bases, or a member or base that is passed like this (Itanium C++ ABI, non-trivial for the purposes of calls).
func (r *typeReader) passing(u *unit, class *detail, depth int) passing {
	if depth > deepestClass {
		return byValue
	}
	name, _, _ := strings.Cut(u.str(class.name), "<")
	var inside []detail
	found, deleted, trivial := false, false, false // the last two: constructors from another object
	u.children(class.off, func(e *detail) bool {
		switch e.tag {
		case dwarf.TagMember, dwarf.TagInheritance:
			if found = e.has(isVirtual) || strings.HasPrefix(u.str(e.name), "_vptr"); !e.has(isStatic) {
				inside = append(inside, *e)
			}
		case dwarf.TagSubprogram:
			switch {
			case e.has(isVirtual):
				found = true
			case e.has(isArtificial) || !r.special(u, e, class, name):
			case e.has(isDeleted):
				deleted = true
			case e.has(isDefaulted):
				trivial = true
			default:
				found = true
			}
		}
		return !found
	})
	doubt := false
	for i := range inside {
		switch r.passingOf(u, inside[i].typ, depth) {
		case byAddress:
			found = true
		case byRules:
			doubt = true
		}
	}
	switch {
	case found:
		return byAddress
	case deleted && !trivial && depth == 0:
		return byAddress
	case deleted && !trivial, doubt:
		return byRules
	}
	return byValue
}

// lacksDefaulted reports whether debug information does not say of functions that they are as the compiler makes them: GCC has extensions of
// its own for that before DWARF 5.
func (u *unit) lacksDefaulted() bool {
	root, ok := u.entryAt(u.entries)
	return ok && u.version < 5 && strings.Contains(u.str(root.producer), " -gstrict-dwarf")
}

// special reports whether a function is a destructor, or a constructor from another object of its class.
func (r *typeReader) special(u *unit, e, class *detail, name string) bool {
	own := u.str(e.name)
	if own == "~"+name {
		return !e.has(isDefaulted)
	}
	if own != name {
		return false
	}
	from := false
	u.children(e.off, func(p *detail) bool {
		if p.tag != dwarf.TagFormalParameter || p.has(isArtificial) {
			return true
		}
		t := r.referred(u, p.typ)
		if tag := t.at.entry.tag; tag == dwarf.TagReferenceType || tag == dwarf.TagRvalueReferenceType {
			from = r.leadsTo(t.at.unit, t.at.entry.typ, class.off)
		}
		return false // the first one counts
	})
	return from
}

// leadsTo reports whether a reference leads to the entry at an offset, through qualifiers.
func (r *typeReader) leadsTo(u *unit, v value, to uint64) bool {
	for range mostOrigins {
		off, ok := r.follow(&u, v)
		if !ok || off == to {
			return ok
		}
		e, ok := u.detailAt(off)
		if !ok || e.tag != dwarf.TagConstType && e.tag != dwarf.TagVolatileType && e.tag != dwarf.TagTypedef {
			return false
		}
		v = e.typ
	}
	return false
}

// passingOf is passing for the type of a member.
func (r *typeReader) passingOf(u *unit, v value, depth int) passing {
	for range mostOrigins {
		off, ok := r.follow(&u, v)
		if !ok {
			return byValue
		}
		e, ok := u.detailAt(off)
		if !ok {
			return byValue
		}
		switch e.tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagArrayType:
			v = e.typ
			continue
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			switch {
			case e.call == callReference:
				return byAddress
			case e.call == 0:
				return r.passing(u, &e, depth+1)
			}
		}
		return byValue
	}
	return byValue
}
