package elfsym

import (
	"debug/dwarf"

	"ptools/internal/cursor"
)

// A detail is an entry with the attributes that describe parameters and types.
type detail struct {
	off            uint64
	tag            dwarf.Tag
	children       bool
	name, linkage  value
	typ, origin    value // of origin: abstract origin or specification
	low            value
	size, constant value // byte size; constant value of an enumerator
	member, bits   value // offset in the struct; size of a bit field
	bound, count   value // of an array
	encoding       uint8
	call           uint8 // calling convention
	goKind         uint8
	flags
	loc   location
	frame location // of the base of its frame
}

// flags are what an entry has or is.
type flags uint16

const (
	isOutput     flags = 1 << iota // a result of a Go function
	isStatic                       // a member that is in no object, or has no fixed place there
	isArtificial                   // made by the compiler
	isDefaulted                    // a function that is as the compiler makes it
	isVirtual
	isExternal
	isDeleted    // a function that may not be called
	isPrototyped // a function of C that says which parameters it takes
	isVector     // an array that is in a vector register
)

// has reports whether any of some flags is set.
func (f flags) has(any flags) bool { return f&any != 0 }

// setIf sets a flag if the value of an attribute is not 0.
func (f *flags) setIf(v value, flag flags) {
	if v.v != 0 {
		*f |= flag
	}
}

// A location is an expression, or a list of them by address.
type location struct {
	expr []byte // nil if there is none, or a list
	list value
}

const (
	attrGoKind    dwarf.Attr = 0x2900
	attrGNUVector dwarf.Attr = 0x2107
)

// Calling conventions (DW_CC_*).
const (
	callNone      = 3 // nocall: the compiler has changed how the function is called
	callReference = 4 // pass_by_reference
)

// detail reads the entry under the cursor, whose data begin at base. It returns false at the end of siblings, and on an error.
func (u *unit) detail(c *cursor.Cursor, base uint64, t *abbrevTable, e *detail) bool {
	*e = detail{off: base + c.Off}
	code := c.Uleb()
	if code == 0 || c.Bad {
		return false
	}
	a := t.get(code)
	if a == nil {
		c.Bad = true
		return false
	}
	e.tag, e.children = a.tag, a.children
	for i := range a.attrs {
		at := &a.attrs[i]
		start := c.Off
		e.set(at.name, u.attr(c, at.form, at.implicit), c, start)
	}
	return !c.Bad
}

// set notes an attribute whose value was at an offset.
func (e *detail) set(name dwarf.Attr, v value, c *cursor.Cursor, start uint64) {
	switch name {
	case dwarf.AttrName:
		e.name = v
	case dwarf.AttrLinkageName, attrMIPSLinkage:
		e.linkage = v
	case dwarf.AttrType:
		e.typ = v
	case dwarf.AttrAbstractOrigin, dwarf.AttrSpecification:
		e.origin = v
	case dwarf.AttrLowpc:
		e.low = v
	case dwarf.AttrByteSize:
		e.size = v
	case dwarf.AttrConstValue:
		e.constant = v
	case dwarf.AttrDataMemberLoc:
		e.setMember(v, c, start)
	case dwarf.AttrBitSize:
		e.bits = v
	case dwarf.AttrUpperBound:
		e.bound = v
	case dwarf.AttrCount:
		e.count = v
	case dwarf.AttrEncoding:
		e.encoding = uint8(v.v)
	case dwarf.AttrCalling:
		e.call = uint8(v.v)
	case attrGoKind:
		e.goKind = uint8(v.v)
	case dwarf.AttrVarParam:
		e.setIf(v, isOutput)
	case dwarf.AttrDeclaration:
		e.setIf(v, isStatic)
	case dwarf.AttrExternal:
		e.setIf(v, isStatic|isExternal)
	case dwarf.AttrArtificial:
		e.setIf(v, isArtificial)
	case dwarf.AttrDefaulted:
		if v.v == 1 { // in the class
			e.flags |= isDefaulted
		}
	case dwarf.AttrDeleted:
		e.setIf(v, isDeleted)
	case dwarf.AttrPrototyped:
		e.setIf(v, isPrototyped)
	case attrGNUVector:
		e.setIf(v, isVector)
	case dwarf.AttrSignature:
		e.typ = v // of the unit that has the type
	case dwarf.AttrVirtuality:
		e.setIf(v, isVirtual)
	case dwarf.AttrFrameBase:
		e.frame = locationOf(v, c, start)
	case dwarf.AttrLocation:
		e.loc = locationOf(v, c, start)
	}
}

// setMember notes where a member is in its struct. Before DWARF 4 that is an expression; those of virtual bases depend on the object.
func (e *detail) setMember(v value, c *cursor.Cursor, start uint64) {
	if l := locationOf(v, c, start); l.expr != nil {
		expr := cursor.Cursor{B: l.expr}
		plus := expr.U8() == opPlusU
		if v.v = expr.Uleb(); !plus || expr.Bad || expr.Remaining() > 0 {
			e.flags |= isStatic
		}
	}
	e.member = v
}

// locationOf returns the value of a location attribute: an expression is behind its length.
func locationOf(v value, c *cursor.Cursor, start uint64) location {
	b := cursor.Cursor{B: c.B[:c.Off], Off: start}
	n := uint64(0)
	switch v.form {
	case formExprloc, formBlock:
		n = b.Uleb()
	case formBlock1:
		n = uint64(b.U8())
	case formBlock2:
		n = uint64(b.U16())
	case formBlock4:
		n = uint64(b.U32())
	default:
		return location{list: v}
	}
	return location{expr: b.Bytes(n)}
}

const (
	maxChildren   = 1 << 10 // that are looked at, of one entry
	maxChildBytes = 1 << 20 // of the entries in it
	oneEntry      = 2048    // bytes that have one entry
)

// detailAt reads the entry at an offset of .debug_info alone.
func (u *unit) detailAt(off uint64) (e detail, ok bool) {
	if off < u.entries || off >= u.end {
		return e, false
	}
	c := cursor.Cursor{B: u.d.info.upTo(off, min(u.end-off, oneEntry))}
	t := u.abbrevs()
	return e, t != nil && u.detail(&c, off, t, &e)
}

// children calls visit with the entries right below the one at an offset, until that returns false.
func (u *unit) children(off uint64, visit func(e *detail) bool) {
	t := u.abbrevs()
	if t == nil || off < u.entries || off >= u.end {
		return
	}
	var all []detail
	// Few entries have much in them: more is read only if it is needed.
	for n, whole := uint64(4<<10), false; !whole && n <= maxChildBytes; n *= 16 {
		room := min(u.end-off, n)
		all, whole = u.readChildren(off, room, t, all[:0])
		whole = whole || room < n
	}
	for i := range all {
		if !visit(&all[i]) {
			return
		}
	}
}

// readChildren appends the entries right below one that are in a number of bytes, and reports whether these are all.
func (u *unit) readChildren(off, n uint64, t *abbrevTable, all []detail) (_ []detail, whole bool) {
	c := cursor.Cursor{B: u.d.info.upTo(off, n)}
	var e detail
	if !u.detail(&c, off, t, &e) || !e.children {
		return all, !c.Bad
	}
	for depth := 1; depth > 0 && len(all) < maxChildren; {
		if !u.detail(&c, off, t, &e) {
			if c.Bad {
				return all, false
			}
			depth--
			continue
		}
		if depth == 1 {
			all = append(all, e)
		}
		if e.children {
			depth++
		}
	}
	return all, true
}
