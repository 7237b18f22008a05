package program

import (
	"errors"

	"ptools/internal/procfs"
	"ptools/internal/rtld"
)

// listState says what is known of the linker's list of objects.
type listState uint8

const (
	listUnread listState = iota
	listRead             // objects is what it was at the last call
	listAbsent           // the program has no linker
)

// FindLinker returns the address that the run-time linker calls before and after each change of its list. If the
// program has no linker, the error is rtld.ErrNoLinker, and that is remembered.
func (i *Image) FindLinker() (uint64, error) {
	if i.list == listAbsent {
		return 0, rtld.ErrNoLinker
	}
	at, err := rtld.Find(i.mem, i.auxv, i.interpreterSymbol)
	if errors.Is(err, rtld.ErrNoLinker) {
		i.list = listAbsent
	}
	if err != nil {
		return 0, err
	}
	i.linker = at
	return at.Break, nil
}

// Follow reads the list of the linker that was found. What is loaded already is not reported later. The owner calls
// Follow when it stops threads at the address that FindLinker returned, so no change falls between.
func (i *Image) Follow() {
	if i.linker.Published {
		i.knowObjects()
	} else {
		i.list = listRead // there is nothing yet
	}
}

// interpreterSymbol looks up a symbol in the run-time linker. If the linker was run as a command, it is the
// executable itself.
func (i *Image) interpreterSymbol(name string) (uint64, bool) {
	base := i.auxv[procfs.AuxBase]
	if base == 0 {
		base = i.Entry()
	}
	o, ok := i.space.Object(base)
	if !ok || o.File == nil {
		return 0, false
	}
	for _, s := range o.File.ByName(name) {
		return o.Bias + s.Addr, true
	}
	return 0, false
}

// knowObjects reads the list without comparing it. The list of a running process may be in disorder. Then it is read
// at the linker's next call.
func (i *Image) knowObjects() {
	if _, objects, err := rtld.Read(i.mem, i.linker.Debug); err == nil {
		i.objects, i.list = objects, listRead
	}
}

// Change is how the linker's list has changed.
type Change struct{ Loaded, Unloaded []rtld.Object }

// LinkerCalled returns what the linker has loaded and unloaded since the last call. It is called while a thread is
// stopped at the address that FindLinker returned. That thread holds the linker's lock, so no other thread changes
// the list. The list is whole only when the linker says so; otherwise LinkerCalled returns false.
func (i *Image) LinkerCalled() (Change, bool) {
	if i.linker.Debug == 0 && !i.findDebug() {
		return Change{}, false
	}
	if i.list == listUnread {
		i.knowObjects()
	}
	state, err := rtld.ReadState(i.mem, i.linker.Debug)
	if err != nil || state != rtld.Consistent {
		return Change{}, false
	}
	_, objects, err := rtld.Read(i.mem, i.linker.Debug)
	if err != nil {
		return Change{}, false
	}
	c := difference(i.objects, objects)
	i.objects = objects
	return c, true
}

// findDebug finds the linker's list. musl fills in its address only when it starts.
func (i *Image) findDebug() bool {
	at, err := rtld.Find(i.mem, i.auxv, i.interpreterSymbol)
	if err == nil {
		i.linker.Debug = at.Debug
	}
	return i.linker.Debug != 0
}

// IsExecutable reports whether an object of the list is the program itself, which is always the first.
func (i *Image) IsExecutable(o rtld.Object) bool {
	return len(i.objects) > 0 && i.objects[0].LinkMap == o.LinkMap
}

// Listed returns the linker's list in its order: the program, then what it needs, then what was loaded later. The
// linker itself is among or behind what the program needs. The result is empty if there is no list, or if the list is
// changing.
func (i *Image) Listed() []rtld.Object {
	if i.list == listRead {
		return i.objects
	}
	at, err := rtld.Find(i.mem, i.auxv, nil)
	if err != nil {
		return nil
	}
	_, objects, err := rtld.Read(i.mem, at.Debug)
	if err != nil {
		return nil
	}
	return objects
}

// difference compares two states of the list by the identity of the link maps.
func difference(before, after []rtld.Object) (c Change) {
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
		c.Loaded = append(c.Loaded, o)
	}
	for _, o := range before {
		if _, gone := old[o]; gone {
			c.Unloaded = append(c.Unloaded, o)
		}
	}
	return c
}
