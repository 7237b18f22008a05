package program

import (
	"cmp"
	"slices"

	"ptools/pctl/handle"
)

// Remapped returns what has been mapped and unmapped since the last call. The map is as of the last
// refresh of the Space, whatever caused that.
func (i *Image) Remapped() (come, gone []handle.Object) {
	now := i.space.Mapped()
	come, gone = mappedChanges(i.mapped, now)
	i.mapped = now
	return come, gone
}

// Named returns the objects that go by a name ("": all) and are among those that have come. They are opened.
func (i *Image) Named(name string, come []handle.Object) []handle.Object {
	return slices.DeleteFunc(i.space.Named(name), func(o handle.Object) bool {
		at, ok := slices.BinarySearchFunc(come, o.Start, byStart)
		return !ok || !sameObject(come[at], o)
	})
}

// mappedChanges compares two lists of objects by address.
func mappedChanges(before, after []handle.Object) (come, gone []handle.Object) {
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(before) > 0 && len(after) > 0 && sameObject(before[0], after[0]):
			before, after = before[1:], after[1:]
		case len(after) == 0 || len(before) > 0 && before[0].Start <= after[0].Start:
			gone = append(gone, before[0])
			before = before[1:]
		default:
			come = append(come, after[0])
			after = after[1:]
		}
	}
	return come, gone
}

func sameObject(a, b handle.Object) bool {
	return a.Start == b.Start && a.End == b.End && a.Path == b.Path
}

func byStart(o handle.Object, addr uint64) int { return cmp.Compare(o.Start, addr) }
