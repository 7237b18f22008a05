package control

import (
	"errors"

	"ptools/internal/procfs"
	"ptools/internal/rtld"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// linker follows the run-time linker of one address space.
type linker struct {
	auxv    procfs.Auxv
	at      rtld.Linker
	brk     *Break // at the function that it calls before and after each change
	objects []rtld.Object
	known   bool            // objects is what its list was at the last call
	mapped  []handle.Object // those in which breakpoints by symbol have been looked up
	fresh   bool            // the program was just exec'd: no initialiser has run
	none    bool            // the program has no linker
	noMain  bool            // where main is has still to be found out
	slots   slotCache       // survives an exec
}

// followLinker sets the breakpoint at the place that the linker calls.
func (c *Controller) followLinker() {
	if c.linker.brk != nil || c.linker.none {
		return
	}
	at, err := rtld.Find(c.mem, c.linker.auxv, c.interpreterSymbol)
	if err != nil {
		c.linker.none = errors.Is(err, rtld.ErrNoLinker)
		return
	}
	c.linker.at = at
	p := forEvents
	if c.linkerNeeded() {
		p = forUs
	}
	var refused error
	c.linker.brk, refused = c.addBreak(at.Break, func(*Hit) { c.linkerCalled() }, p)
	c.killRisk.unseen(refused)
	if at.Published {
		c.knowObjects()
	} else {
		c.linker.known = true // there is nothing yet
	}
}

// interpreterSymbol looks a symbol up in the run-time linker, which is the
// executable itself if it was run as a command.
func (c *Controller) interpreterSymbol(name string) (uint64, bool) {
	base := c.linker.auxv[procfs.AuxBase]
	if base == 0 {
		base = c.linker.auxv[procfs.AuxEntry]
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

// knowObjects takes the linker's list as known: what is mapped already is not news.
// Of a running process the list may be in disorder; then it is read at the linker's
// next call.
func (c *Controller) knowObjects() {
	if _, objects, err := rtld.Read(c.mem, c.linker.at.Debug); err == nil {
		c.linker.objects, c.linker.known = objects, true
	}
}

// linkerCalled is called with one thread at the linker's breakpoint, which holds the
// linker's lock: nobody else changes the list. It is whole only when the linker says
// so.
func (c *Controller) linkerCalled() {
	if c.linker.at.Debug == 0 && !c.findDebug() {
		return
	}
	if !c.linker.known {
		c.knowObjects()
	}
	state, err := rtld.ReadState(c.mem, c.linker.at.Debug)
	if err != nil || state != rtld.Consistent {
		return
	}
	_, objects, err := rtld.Read(c.mem, c.linker.at.Debug)
	if err != nil {
		return
	}
	loaded, unloaded := difference(c.linker.objects, objects)
	c.linker.objects = objects
	if len(loaded)+len(unloaded) > 0 {
		c.objectsChanged(loaded, unloaded)
	}
	if c.linker.noMain {
		c.planMainByLinker()
	}
	if c.linker.fresh {
		c.linker.fresh = false
		c.announceHere(notify.Preinit)
	}
}

// findDebug finds the linker's list, whose address musl fills in only as it starts.
func (c *Controller) findDebug() bool {
	at, err := rtld.Find(c.mem, c.linker.auxv, c.interpreterSymbol)
	if err == nil {
		c.linker.at.Debug = at.Debug
	}
	return c.linker.at.Debug != 0
}
