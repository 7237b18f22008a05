package elfsym

import (
	"debug/dwarf"

	lru "github.com/hashicorp/golang-lru/v2"
)

// A scope is a namespace or a class: the offsets of the entries in it, and its name with those of the scopes around it.
type scope struct {
	span
	name string // ends with "::"
}

const (
	keptScopes  = 64        // units whose scopes are kept
	maxScopes   = 1 << 16   // of one unit
	scopeSize   = 32        // bytes, without the name
	maxScopeRun = 256 << 20 // bytes of entries that are read for the scopes of one file
)

// scopes has the scopes of units.
type scopes struct {
	units *lru.Cache[uint64, []scope]
	read  uint64 // bytes of entries
}

// scopeOf returns the names of the namespaces and classes around an entry: "shop::Cart::". Functions without a linkage
// name, as static ones, have only a plain name of their own.
func (u *unit) scopeOf(off uint64) string {
	d := u.d
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
	if u.d.scopes.read += u.end - u.entries; u.d.scopes.read > maxScopeRun {
		return nil
	}
	var all []scope // numbered from 1
	u.walk(isScope, func(e *die, outer uint64) uint64 {
		if len(all) >= maxScopes {
			return outer
		}
		around := ""
		if outer > 0 {
			around = all[outer-1].name
		}
		all = append(all, u.newScope(e, around))
		return uint64(len(all))
	}, func(inner, end uint64) {
		if inner > 0 {
			all[inner-1].end = end
		}
	})
	return all
}

// newScope returns the scope of an entry, with the names of those around it.
func (u *unit) newScope(e *die, around string) scope {
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
	name = around + name
	end := e.off // a declaration has nothing in it
	if e.abbrev.children {
		end = u.end
	}
	if name = name[:min(len(name), maxName)]; !u.d.f.budget.keep(uint64(scopeSize + len(name))) {
		name = ""
	}
	return scope{span{e.off, end}, name}
}

// isScope reports whether names of functions in an entry are qualified by its name.
func isScope(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagNamespace, dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return true
	}
	return false
}
