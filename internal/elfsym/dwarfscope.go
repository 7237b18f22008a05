package elfsym

import (
	"debug/dwarf"

	lru "github.com/hashicorp/golang-lru/v2"

	"ptools/internal/cursor"
)

// A scope is a namespace or a class: the offsets of the entries in it, and its name with those of the scopes around it.
type scope struct {
	span
	name string // ends with "::"
}

const (
	keptScopes  = 64        // units whose scopes are kept
	maxScopes   = 1 << 16   // of one unit
	maxScopeRun = 256 << 20 // bytes of entries that are read for the scopes of one file
)

// scopes has the scopes of units.
type scopes struct {
	units *lru.Cache[uint64, []scope]
	read  uint64 // bytes of entries
}

// scopeOf returns the names of the namespaces and classes around an entry: "shop::Cart::". Functions without a linkage
// name, as static ones, have only a plain name of their own.
func (d *dwarfFile) scopeOf(off uint64) string {
	u, ok := d.unitOf(off)
	if !ok {
		return ""
	}
	if d.scopes.units == nil {
		units, err := lru.New[uint64, []scope](keptScopes)
		if err != nil {
			panic(err) // only for sizes below 1
		}
		d.scopes.units = units
	}
	all, ok := d.scopes.units.Get(u.off)
	if !ok {
		all = u.readScopes()
		d.scopes.units.Add(u.off, all)
	}
	name := ""
	for i := range all { // in the order of their starts: the last is the innermost
		if all[i].start > off {
			break
		}
		if off < all[i].end {
			name = all[i].name
		}
	}
	return name
}

// readScopes walks the entries of the unit.
func (u *unit) readScopes() []scope {
	size := u.end - u.entries
	if u.d.scopes.read += size; size > maxUnitBytes || u.d.scopes.read > maxScopeRun {
		return nil
	}
	data, ok := u.d.info.bytes(u.entries, size)
	abbrevs := readAbbrevs(u.d.abbrev, u.abbrevOff, 0, u)
	if !ok || abbrevs == nil {
		return nil
	}
	var all []scope
	var e die
	open := []int{-1} // the scope at each depth, by its number; -1 for none
	c := cursor.Cursor{B: data}
	for len(open) > 0 && len(open) < maxDepth && len(all) < maxScopes {
		a, more := u.peek(&c, abbrevs)
		if a == nil {
			if !more {
				break
			}
			last := len(open) - 1
			if i := open[last]; i >= 0 && (last == 0 || open[last-1] != i) {
				all[i].end = u.entries + c.Off
			}
			open = open[:last]
			if len(open) == 1 {
				break // the end of the unit's entry
			}
			continue
		}
		at := open[len(open)-1]
		named := isScope(a.tag)
		if !named && !a.wanted && a.fixed >= 0 {
			c.Uleb()
			c.Skip(uint64(a.fixed))
		} else if !u.entry(&c, u.entries, abbrevs, &e) {
			break
		}
		if !a.children {
			continue
		}
		if named {
			all = append(all, u.newScope(&e, all, at))
			at = len(all) - 1
		}
		open = append(open, at)
	}
	return all
}

// newScope returns the scope of an entry, inside scope outer of all.
func (u *unit) newScope(e *die, all []scope, outer int) scope {
	name := u.str(e.name)
	if name == "" && e.origin.set() { // a class that is declared elsewhere
		if at := u.reference(e.origin); at != 0 {
			if declared, ok := u.entryAt(at); ok {
				name = u.str(declared.name)
			}
		}
	}
	switch {
	case name != "":
		name += "::"
	case e.abbrev.tag == dwarf.TagNamespace:
		name = "(anonymous namespace)::"
	}
	if outer >= 0 {
		name = all[outer].name + name
	}
	return scope{span{e.off, u.end}, name[:min(len(name), maxName)]}
}

// isScope reports whether names of functions in an entry are qualified by its name.
func isScope(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagNamespace, dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return true
	}
	return false
}
