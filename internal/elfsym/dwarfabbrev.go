package elfsym

import (
	"debug/dwarf"
	"unsafe"

	"ptools/internal/cursor"
)

// Forms of DWARF 5 (and of GNU's extensions to DWARF 4) by the names of the
// standard, section 7.5.6. debug/dwarf has the tags and most attributes.
const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// attrMIPSLinkage is what compilers called DW_AT_linkage_name before DWARF 4.
const attrMIPSLinkage dwarf.Attr = 0x2007

// An abbrev is the layout of entries with one code.
type abbrev struct {
	tag      dwarf.Tag
	children bool
	wanted   bool // the entry has something that is used
	fixed    int  // length of all attributes, -1 if it varies
	attrs    []abbrevAttr
}

type abbrevAttr struct {
	name     dwarf.Attr
	form     uint32
	implicit int64
}

const (
	maxAbbrevs     = 1 << 16 // codes of one table
	maxAbbrevBytes = 4 << 20 // of one table
)

// abbrevCost is the work for a byte of a table: any number of units may share one, and each byte is decoded.
const abbrevCost = 2

// abbrevTable is indexed by code. Producers number from 1 without gaps; other
// codes are in odd.
type abbrevTable struct {
	dense []abbrev
	odd   map[uint64]*abbrev
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if code < uint64(len(t.dense)) {
		return &t.dense[code]
	}
	return t.odd[code]
}

// keptAbbrevs is the table that was used last for details of entries, of which one after the other is read in a unit.
type keptAbbrevs struct {
	of    abbrevKey
	table *abbrevTable // nil: none is kept
	size  uint64       // bytes
}

// abbrevKey is what a table depends on.
type abbrevKey struct {
	off, addrSize, offSize uint64
	version                uint16
}

// abbrevs returns the unit's whole table.
func (u *unit) abbrevs() *abbrevTable {
	k := &u.d.abbrevs
	of := abbrevKey{u.abbrevOff, u.addrSize, u.offSize, u.version}
	if k.table != nil && k.of == of {
		return k.table
	}
	t := readAbbrevs(u.d.abbrev, u.abbrevOff, 0, u)
	if t == nil {
		return nil
	}
	u.d.f.repay(k.size)
	if *k = (keptAbbrevs{}); u.d.f.spare(t.size()) {
		*k = keptAbbrevs{of, t, t.size()}
	}
	return t
}

// size returns how many bytes the table takes.
func (t *abbrevTable) size() (n uint64) {
	for i := range t.dense {
		n += t.dense[i].size()
	}
	for _, a := range t.odd {
		n += a.size()
	}
	return n
}

func (a *abbrev) size() uint64 {
	return uint64(unsafe.Sizeof(*a)) + uint64(cap(a.attrs))*uint64(unsafe.Sizeof(abbrevAttr{}))
}

// readAbbrevs reads the table at off up to its end, or, if only is not 0, that
// code alone.
func readAbbrevs(v view, off, only uint64, u *unit) *abbrevTable {
	for n := uint64(512); ; n *= 8 {
		c := cursor.Cursor{B: v.upTo(off, min(n, maxAbbrevBytes))}
		t, ok := parseAbbrevs(&c, only, u)
		if !v.b.spend(abbrevCost * c.Off) {
			return nil
		}
		if ok {
			return t
		}
		if uint64(len(c.B)) < n || n >= maxAbbrevBytes {
			return nil
		}
	}
}

func parseAbbrevs(c *cursor.Cursor, only uint64, u *unit) (*abbrevTable, bool) {
	t := new(abbrevTable)
	if only == 0 {
		t.dense = make([]abbrev, 1, 64)
	}
	for n := 0; n < maxAbbrevs; n++ {
		code := c.Uleb()
		if code == 0 {
			return t, !c.Bad
		}
		if only != 0 && code != only {
			if skipAbbrev(c); c.Bad {
				return nil, false
			}
			continue
		}
		a := abbrev{tag: dwarf.Tag(c.Uleb()), children: c.U8() != 0}
		for !c.Bad {
			at := abbrevAttr{name: dwarf.Attr(c.Uleb()), form: uint32(c.Uleb())}
			if at.form == formImplicitConst {
				at.implicit = c.Sleb()
			}
			if at.name == 0 && at.form == 0 {
				break
			}
			size := u.formSize(at.form)
			if a.fixed >= 0 && size >= 0 {
				a.fixed += size
			} else {
				a.fixed = -1
			}
			a.wanted = a.wanted || at.name == dwarf.AttrSibling
			a.attrs = append(a.attrs, at)
		}
		if c.Bad {
			return nil, false
		}
		switch a.tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			a.wanted = true
		}
		if code == uint64(len(t.dense)) {
			t.dense = append(t.dense, a)
		} else if code > uint64(len(t.dense)) {
			if t.odd == nil {
				t.odd = make(map[uint64]*abbrev)
			}
			t.odd[code] = &a
		}
		if code == only {
			return t, true
		}
	}
	return t, true
}

// skipAbbrev skips an abbreviation behind its code.
func skipAbbrev(c *cursor.Cursor) {
	c.Uleb()
	c.U8()
	for !c.Bad {
		name, form := c.Uleb(), c.Uleb()
		if form == formImplicitConst {
			c.Sleb()
		}
		if name == 0 && form == 0 {
			return
		}
	}
}

// formSize returns the length of a form in u, -1 if it varies.
func (u *unit) formSize(form uint32) int {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(u.addrSize)
	case formStrp, formSecOffset, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return int(u.offSize)
	case formRefAddr:
		if u.version <= 2 {
			return int(u.addrSize)
		}
		return int(u.offSize)
	}
	return -1
}
