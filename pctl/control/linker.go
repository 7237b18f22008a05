package control

import (
	"errors"
	"slices"

	"ptools/internal/procfs"
	"ptools/internal/rtld"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// linker follows the run-time linker of one address space.
type linker struct {
	at      rtld.Linker
	brk     *Break // at the function that it calls before and after each change
	objects []rtld.Object
	fresh   bool // the program was just exec'd: no initialiser has run
	none    bool // the program has no linker
}

// followImage takes notice of the address space that the target has now: its map,
// its run-time linker, the places where it has to be stopped, and the breakpoints by
// symbol. After an exec, or when the target is seized.
func (c *Controller) followImage() error {
	c.table = bkptTable(c.mem)
	c.linker = linker{fresh: c.started || c.imageNew}
	space, err := handle.NewSpace(c.pid, c.files)
	if err != nil {
		return err
	}
	if old := c.space.Swap(space); old != nil {
		c.retired = append(c.retired, old)
	}
	c.table.Arm()
	if c.linkerWanted() {
		c.followLinker()
	}
	c.planPoints()
	for _, s := range c.symbolic {
		s.resolve(space.Mapped())
	}
	return nil
}

// linkerWanted reports whether anybody needs to know what the linker does. If not,
// no trap is planted for it.
func (c *Controller) linkerWanted() bool {
	return c.opt.Linker || len(c.symbolic) > 0 || c.linker.fresh && c.points&notify.Preinit != 0
}

// followLinker sets the breakpoint at the place that the linker calls.
func (c *Controller) followLinker() {
	if c.linker.brk != nil || c.linker.none {
		return
	}
	auxv, err := procfs.ReadAuxv(c.pid)
	if err != nil {
		return
	}
	c.linker.at, err = rtld.Find(c.mem, auxv, func(name string) (uint64, bool) {
		return c.interpreterSymbol(auxv[atBase], auxv[atEntry], name)
	})
	if err != nil {
		c.linker.none = errors.Is(err, rtld.ErrNoLinker)
		return
	}
	if c.linker.at.Published {
		// What is mapped already is not news.
		if _, objects, err := rtld.Read(c.mem, c.linker.at.Debug); err == nil {
			c.linker.objects = objects
		}
	}
	c.linker.brk, _ = c.addBreak(c.linker.at.Break, func(*Hit) { c.linkerCalled() })
}

// Types of auxiliary vector entries.
const (
	atBase  = 7
	atEntry = 9
)

// interpreterSymbol looks a symbol up in the run-time linker, which is the
// executable itself if it was run as a command.
func (c *Controller) interpreterSymbol(base, entry uint64, name string) (uint64, bool) {
	if base == 0 {
		base = entry
	}
	o, ok := c.Space().Object(base)
	if !ok || o.File == nil {
		return 0, false
	}
	for _, s := range o.File.ByName(name) {
		return o.Bias + s.Addr, true
	}
	return 0, false
}

// linkerCalled is called with one thread at the linker's breakpoint. The list is
// whole only when the linker says so.
func (c *Controller) linkerCalled() {
	if c.linker.at.Debug == 0 {
		c.findDebug()
	}
	state, objects, err := rtld.Read(c.mem, c.linker.at.Debug)
	if err != nil || state != rtld.Consistent {
		return
	}
	loaded, unloaded := difference(c.linker.objects, objects)
	c.linker.objects = objects
	if len(loaded)+len(unloaded) > 0 {
		c.objectsChanged(loaded, unloaded)
	}
	if c.linker.fresh {
		c.linker.fresh = false
		c.announceHere(notify.Preinit)
	}
}

// findDebug finds the linker's list, which musl fills in only as it starts.
func (c *Controller) findDebug() {
	auxv, err := procfs.ReadAuxv(c.pid)
	if err != nil {
		return
	}
	at, err := rtld.Find(c.mem, auxv, func(name string) (uint64, bool) {
		return c.interpreterSymbol(auxv[atBase], auxv[atEntry], name)
	})
	if err == nil {
		c.linker.at.Debug = at.Debug
	}
}

// difference compares two states of the list by the identity of the link maps.
func difference(before, after []rtld.Object) (loaded, unloaded []rtld.Object) {
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
func (c *Controller) objectsChanged(loaded, unloaded []rtld.Object) {
	before := c.Space().Mapped()
	c.Space().Refresh()
	after := c.Space().Mapped()
	c.dropUnloaded(before, after)
	for _, o := range unloaded {
		c.publishObject(notify.Unloaded, o)
	}
	for _, o := range loaded {
		c.publishObject(notify.Loaded, o)
	}
	fresh := slices.DeleteFunc(slices.Clone(after), func(o handle.Object) bool {
		return slices.ContainsFunc(before, func(b handle.Object) bool { return sameObject(b, o) })
	})
	for _, s := range c.symbolic {
		s.resolve(fresh)
	}
}

func (c *Controller) publishObject(k notify.Kind, o rtld.Object) {
	if o.Name == "" {
		return // the executable: its exec was announced
	}
	c.publish(notify.Event{Kind: k, Path: o.Name, Base: o.Base, Namespace: o.Namespace})
}

func sameObject(a, b handle.Object) bool {
	return a.Start == b.Start && a.End == b.End && a.Path == b.Path
}

// dropUnloaded removes the breakpoints by symbol that were in objects which are
// mapped no more: something else may come to be at their addresses.
func (c *Controller) dropUnloaded(before, after []handle.Object) {
	for _, o := range before {
		if slices.ContainsFunc(after, func(a handle.Object) bool { return sameObject(a, o) }) {
			continue
		}
		for _, s := range c.symbolic {
			s.drop(o.Start, o.End)
		}
	}
}
