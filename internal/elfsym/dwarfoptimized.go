package elfsym

import "debug/dwarf"

// A known is what was found out about a unit.
type known uint8

const (
	notYet known = iota
	no
	yes
)

// get returns what is known, which find finds out. The lock of the unit's file is held.
func (k *known) get(find func() bool) bool {
	if *k == notYet {
		if *k = no; find() {
			*k = yes
		}
	}
	return *k == yes
}

// findTypes reports whether the unit describes a type: those of assemblers, and of compilers that were asked for lines only, have none.
func (u *unit) findTypes() (found bool) {
	u.children(u.entries, func(e *detail) bool {
		switch e.tag {
		case dwarf.TagBaseType, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagTypedef, dwarf.TagPointerType, dwarf.TagEnumerationType, dwarf.TagArrayType:
			found = true
		}
		return !found
	})
	return found
}

const (
	deepestScope = 16      // bounds the scopes in scopes
	mostScoped   = 1 << 14 // entries of a unit that are looked at
)

// findLists reports whether a function of the unit has a parameter or variable whose place depends on the instruction. LLVM
// describes none like that if it does not optimize.
func (u *unit) findLists() bool {
	n := 0
	return u.hasLists(u.entries, &n, 0)
}

// hasLists is findLists for what is in the entry at an offset. n counts entries.
func (u *unit) hasLists(off uint64, n *int, depth int) (found bool) {
	u.children(off, func(e *detail) bool {
		switch *n++; e.tag {
		case dwarf.TagFormalParameter, dwarf.TagVariable:
			found = e.loc.list.set()
		case dwarf.TagNamespace, dwarf.TagSubprogram, dwarf.TagLexDwarfBlock: // what was inlined may have been optimized before
			found = e.children && depth < deepestScope && u.hasLists(e.off, n, depth+1)
		}
		return !found && *n < mostScoped
	})
	return found
}
