package elfsym

import (
	"debug/dwarf"
	"slices"

	"ptools/internal/cursor"
)

// maxMembers bounds the members of one struct that are kept.
const maxMembers = 1 << 10

// Structs returns the offsets of the members of struct types by the names of the types, as debug information says. Types that
// it does not have are left out. The Go linker puts the types of all packages into a unit of the runtime. A unit larger
// than 64 MiB is not read.
func (g *GoTable) Structs(types ...string) map[string]map[string]uint64 {
	d := g.file.dwarf()
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	found := make(map[string]map[string]uint64)
	d.eachUnit(func(u *unit) bool {
		if e, ok := u.readRoot(); ok && u.str(e.name) == "runtime" {
			u.structs(types, found)
		}
		return len(found) < len(types)
	})
	return found
}

// structs adds those of the types that the unit has.
func (u *unit) structs(types []string, found map[string]map[string]uint64) {
	if u.end-u.entries > maxUnitBytes {
		return
	}
	data, ok := u.d.info.bytes(u.entries, u.end-u.entries)
	abbrevs := readAbbrevs(u.d.abbrev, u.abbrevOff, 0, u)
	if !ok || abbrevs == nil {
		return
	}
	var e die
	var inside map[string]uint64 // the struct whose members follow
	within := 0                  // depth of its members
	c := cursor.Cursor{B: data}
	for depth := 0; c.Remaining() > 0; {
		a, more := u.peek(&c, abbrevs)
		if a == nil {
			if depth--; !more || depth <= 0 {
				break
			}
			if depth < within {
				if inside = nil; len(found) == len(types) {
					break
				}
			}
			continue
		}
		member := a.tag == dwarf.TagMember && inside != nil && depth == within
		if !member && a.tag != dwarf.TagStructType && a.fixed >= 0 {
			c.Uleb()
			c.Skip(uint64(a.fixed))
		} else if !u.entry(&c, u.entries, abbrevs, &e) {
			break
		} else if member && len(inside) < maxMembers {
			inside[u.str(e.name)] = e.member.v
		} else if name := u.str(e.name); a.tag == dwarf.TagStructType && slices.Contains(types, name) && a.children && found[name] == nil {
			inside, within = make(map[string]uint64), depth+1
			found[name] = inside
		}
		if a.children {
			depth++
		}
	}
}
