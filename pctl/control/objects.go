package control

import (
	"cmp"
	"slices"

	"ptools/internal/rtld"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// difference compares two states of the linker's list by the identity of the link
// maps.
func difference(before, after []rtld.Object) (loaded, unloaded []rtld.Object) {
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	old := make(map[rtld.Object]struct{}, len(before))
	for _, o := range before {
		old[o] = struct{}{}
	}
	for _, o := range after {
		if _, ok := old[o]; ok {
			delete(old, o)
			continue
		}
		loaded = append(loaded, o)
	}
	for _, o := range before {
		if _, gone := old[o]; gone {
			unloaded = append(unloaded, o)
		}
	}
	return loaded, unloaded
}

// objectsChanged brings symbols and breakpoints up to date and tells the clients.
func (i *image) objectsChanged(loaded, unloaded []rtld.Object) {
	if i.c.Space().Refresh() == nil {
		i.lookUp()
	}
	for _, o := range unloaded {
		i.publishObject(notify.Unloaded, o)
	}
	for _, o := range loaded {
		i.publishObject(notify.Loaded, o)
	}
}

func (i *image) publishObject(k notify.Kind, o rtld.Object) {
	if list := i.linker.objects; len(list) > 0 && list[0].LinkMap == o.LinkMap {
		return // the executable, which is always the first: its exec was announced
	}
	i.c.publish(notify.Event{Kind: k, Path: o.Name, Base: o.Base, Namespace: o.Namespace})
}

// lookUp looks the breakpoints by symbol up in what has been mapped since the last
// time, and removes those that were in what is mapped no more: something else may
// come to be at their addresses. The map is that of the last Refresh, whatever made
// it.
func (i *image) lookUp() {
	now := i.c.Space().Mapped()
	come, gone := mappedChanges(i.linker.mapped, now)
	i.linker.mapped = now
	for _, o := range gone {
		for _, s := range i.symbolic {
			s.drop(o.Start, o.End)
		}
	}
	if len(come) == 0 {
		return
	}
	byName := map[string][]handle.Object{}
	for _, s := range i.symbolic {
		objects, ok := byName[s.object]
		if !ok {
			objects = i.openNamed(s.object, come)
			byName[s.object] = objects
		}
		s.resolve(objects)
	}
}

// openNamed returns those of the objects that go by a name, opened.
func (i *image) openNamed(name string, among []handle.Object) []handle.Object {
	return slices.DeleteFunc(i.c.Space().Named(name), func(o handle.Object) bool {
		i, ok := slices.BinarySearchFunc(among, o.Start, byStart)
		return !ok || !sameObject(among[i], o)
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
