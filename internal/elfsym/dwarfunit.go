package elfsym

import (
	"debug/dwarf"

	"ptools/internal/cursor"
)

// A unit is one unit of .debug_info.
type unit struct {
	d         *dwarfFile
	off, end  uint64 // of its header in .debug_info, and of what follows it
	entries   uint64 // offset of its first entry
	version   uint16
	addrSize  uint64
	offSize   uint64
	abbrevOff uint64
	inWalk    *walked // while walk reads the entries
	typeID    uint64  // of a unit of one type: the type's signature
	typeOff   uint64  // and the offset of its entry from that of the header

	hasTypes, isOptimized known

	unitRoot
}

// walked is what walk has in memory of a unit.
type walked struct {
	entries []byte
	abbrevs *abbrevTable
}

// unitRoot is what the first entry of a unit says.
type unitRoot struct {
	lowPC        uint64
	stmtList     uint64
	hasLines     bool
	compDir      string
	strOffsets   uint64
	addrBase     uint64
	rnglistsBase uint64
	loclistsBase uint64
	rangesBase   uint64 // of split units, before DWARF 5
	language     uint16
	dwoName      string // of a skeleton unit
	dwoID        uint64 // of a skeleton unit or split unit
}

// Types of unit in DWARF 5.
const (
	unitType         = 0x02
	unitSkeleton     = 0x04
	unitSplitCompile = 0x05
	unitSplitType    = 0x06
)

// unitAt reads the header of the unit at off.
func (d *dwarfFile) unitAt(off uint64) (*unit, bool) {
	c := cursor.Cursor{B: d.info.upTo(off, 48)}
	n, offSize := c.Length()
	u := &unit{d: d, off: off, offSize: offSize}
	start := c.Off
	if c.Bad || n > d.info.size-off-start {
		return nil, false
	}
	u.end = off + start + n
	u.version = c.U16()
	switch {
	case u.version < 2 || u.version > 5:
		return u, false
	case u.version == 5:
		kind := c.U8()
		u.addrSize = uint64(c.U8())
		u.abbrevOff = c.Uint(offSize)
		switch kind {
		case unitSkeleton, unitSplitCompile:
			u.dwoID = c.U64()
		case unitType, unitSplitType:
			u.typeID, u.typeOff = c.U64(), c.Uint(offSize)
		}
	default:
		u.abbrevOff = c.Uint(offSize)
		u.addrSize = uint64(c.U8())
	}
	u.entries = off + c.Off
	return u, !c.Bad && (u.addrSize == 4 || u.addrSize == 8) && u.entries <= u.end
}

// value is the value of an attribute. A string is kept as its place.
type value struct {
	form uint32
	v    uint64
	text string // of formString
}

func (v *value) set() bool { return v.form != 0 }

// die is an entry with the attributes that are used.
type die struct {
	off      uint64 // in .debug_info
	abbrev   *abbrev
	sibling  uint64 // 0 if there is no such attribute
	low      value
	high     value
	ranges   value
	name     value
	linkage  value
	origin   value // abstract origin or specification
	callFile uint64
	call     sourcePos
	decl     sourcePos
	member   value // where it is in its struct
	ofUnit
}

// sourcePos is a place in a source file.
type sourcePos struct{ line, column uint64 }

// ofUnit are the attributes of the first entry of a unit.
type ofUnit struct {
	stmtList, compDir, strOffsets, addrBase, rnglists value
	dwoName, dwoID, rangesBase, loclists, language    value
	producer                                          value
}

// entry reads the entry under the cursor, whose data begin at the offset base
// of .debug_info. It returns false at the end of the siblings and on an error.
func (u *unit) entry(c *cursor.Cursor, base uint64, t *abbrevTable, e *die) bool {
	*e = die{off: base + c.Off}
	code := c.Uleb()
	if code == 0 || c.Bad {
		return false
	}
	e.abbrev = t.get(code)
	if e.abbrev == nil {
		c.Bad = true
		return false
	}
	for i := range e.abbrev.attrs {
		a := &e.abbrev.attrs[i]
		v := u.attr(c, a.form, a.implicit)
		switch a.name {
		case dwarf.AttrSibling:
			e.sibling = u.reference(v)
		case dwarf.AttrLowpc:
			e.low = v
		case dwarf.AttrHighpc:
			e.high = v
		case dwarf.AttrRanges:
			e.ranges = v
		case dwarf.AttrName:
			e.name = v
		case dwarf.AttrLinkageName, attrMIPSLinkage:
			e.linkage = v
		case dwarf.AttrAbstractOrigin, dwarf.AttrSpecification:
			e.origin = v
		case dwarf.AttrCallFile:
			e.callFile = v.v
		case dwarf.AttrCallLine:
			e.call.line = v.v
		case dwarf.AttrCallColumn:
			e.call.column = v.v
		case dwarf.AttrDeclLine:
			e.decl.line = v.v
		case dwarf.AttrDeclColumn:
			e.decl.column = v.v
		case dwarf.AttrDataMemberLoc:
			e.member = v
		case dwarf.AttrStmtList:
			e.stmtList = v
		case dwarf.AttrCompDir:
			e.compDir = v
		case dwarf.AttrStrOffsetsBase:
			e.strOffsets = v
		case attrDwoName, attrGNUDwoName:
			e.dwoName = v
		case attrGNUDwoID:
			e.dwoID = v
		case attrGNURangesBase:
			e.rangesBase = v
		case dwarf.AttrAddrBase, attrGNUAddrBase:
			e.addrBase = v
		case dwarf.AttrRnglistsBase:
			e.rnglists = v
		case dwarf.AttrLoclistsBase:
			e.loclists = v
		case dwarf.AttrProducer:
			e.producer = v
		case dwarf.AttrLanguage:
			e.language = v
		}
	}
	return !c.Bad
}

// attr reads one attribute.
func (u *unit) attr(c *cursor.Cursor, form uint32, implicit int64) value {
	if form == formIndirect {
		form = uint32(c.Uleb())
		if form == formIndirect || form == formImplicitConst {
			c.Bad = true
			return value{}
		}
	}
	v := value{form: form}
	switch form {
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.v = c.Uleb()
	case formSdata:
		v.v = uint64(c.Sleb())
	case formImplicitConst:
		v.v = uint64(implicit)
	case formFlagPresent:
		v.v = 1
	case formString:
		v.text = c.CString(maxName)
	case formBlock1:
		c.Skip(uint64(c.U8()))
	case formBlock2:
		c.Skip(uint64(c.U16()))
	case formBlock4:
		c.Skip(uint64(c.U32()))
	case formBlock, formExprloc:
		c.Skip(c.Uleb())
	case formData16:
		c.Skip(16)
	default:
		n := u.formSize(form)
		if n < 0 {
			c.Bad = true
			return value{}
		}
		v.v = c.Uint(uint64(n))
	}
	return v
}

// reference returns the offset in .debug_info that a reference refers to, 0
// if it refers to something else.
func (u *unit) reference(v value) uint64 {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		if v.v < u.end-u.off {
			return u.off + v.v
		}
	case formRefAddr:
		return v.v
	}
	return 0
}

// entryAt reads the entry at an offset of .debug_info alone.
func (u *unit) entryAt(off uint64) (e die, ok bool) {
	if w := u.inWalk; w != nil && off >= u.entries && off < u.end {
		c := cursor.Cursor{B: w.entries, Off: off - u.entries}
		ok = u.entry(&c, u.entries, w.abbrevs, &e)
		return e, ok && u.d.f.budget.spend(accessCost+c.Off-(off-u.entries))
	}
	c := cursor.Cursor{B: u.d.info.upTo(off, min(u.end-off, 2048))}
	code := (&cursor.Cursor{B: c.B}).Uleb()
	t := readAbbrevs(u.d.abbrev, u.abbrevOff, code, u)
	return e, code != 0 && t != nil && u.entry(&c, off, t, &e)
}

// readRoot reads the unit's first entry.
func (u *unit) readRoot() (die, bool) {
	e, ok := u.entryAt(u.entries)
	if !ok {
		return e, false
	}
	switch e.abbrev.tag {
	case dwarf.TagCompileUnit, dwarf.TagSkeletonUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit:
	default:
		return e, false
	}
	// The bases come first: the other attributes need them.
	u.strOffsets, u.addrBase, u.rnglistsBase, u.loclistsBase = e.strOffsets.v, e.addrBase.v, e.rnglists.v, e.loclists.v
	if u.d.split {
		u.splitBases()
	}
	u.language = uint16(e.language.v)
	u.stmtList, u.hasLines = e.stmtList.v, e.stmtList.set()
	u.compDir, u.dwoName, u.rangesBase = u.str(e.compDir), u.str(e.dwoName), e.rangesBase.v
	if e.dwoID.set() {
		u.dwoID = e.dwoID.v
	}
	u.lowPC, _ = u.address(e.low)
	return e, true
}

// str returns the string of an attribute.
func (u *unit) str(v value) string {
	s := ""
	switch v.form {
	case formString:
		s = v.text
	case formStrp:
		s, _ = u.d.str.cstring(v.v)
	case formStrpSup, formGNUStrpAlt:
		if sup := u.d.supplement(); sup != nil {
			s, _ = sup.str.cstring(v.v)
		}
	case formLineStrp:
		s, _ = u.d.lineStr.cstring(v.v)
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		if off, ok := u.d.strOffs.element(u.strOffsets, v.v, u.offSize); ok {
			s, _ = u.d.str.cstring(off)
		}
	}
	return s
}

// address returns the address of an attribute of that class.
func (u *unit) address(v value) (uint64, bool) {
	switch v.form {
	case formAddr:
		return v.v, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return u.d.addr.element(u.addrBase, v.v, u.addrSize)
	}
	return 0, false
}
