package control

import (
	"errors"
	"syscall"

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
	list    listState
	mapped  []handle.Object // those in which breakpoints by symbol have been looked up
	fresh   bool            // the program was just exec'd: no initialiser has run
	noMain  bool            // where main is has still to be found out
	slots   slotCache       // survives an exec
}

// listState says what is known of the linker's list of objects.
type listState uint8

const (
	listUnread listState = iota
	listRead             // objects is what it was at the last call
	listAbsent           // the program has no linker
)

// followLinker sets the breakpoint at the place that the linker calls.
func (i *image) followLinker() {
	if i.linker.brk != nil || i.linker.list == listAbsent {
		return
	}
	at, err := rtld.Find(i.g.Memory.Mem, i.linker.auxv, i.interpreterSymbol)
	if err != nil {
		if errors.Is(err, rtld.ErrNoLinker) {
			i.linker.list = listAbsent
		}
		return
	}
	i.linker.at = at
	p := forEvents
	if i.linkerNeeded() {
		p = forUs
	}
	var refused error
	i.linker.brk, refused = i.c.traps.addBreak(at.Break, func(*Hit) { i.linkerCalled() }, p)
	if !errors.Is(refused, syscall.ESRCH) { // else the process is being killed
		i.c.traps.killRisk.unseen(refused)
	}
	if at.Published {
		i.knowObjects()
	} else {
		i.linker.list = listRead // there is nothing yet
	}
}

// interpreterSymbol looks a symbol up in the run-time linker, which is the
// executable itself if it was run as a command.
func (i *image) interpreterSymbol(name string) (uint64, bool) {
	base := i.linker.auxv[procfs.AuxBase]
	if base == 0 {
		base = i.linker.auxv[procfs.AuxEntry]
	}
	o, ok := i.c.Space().Object(base)
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
func (i *image) knowObjects() {
	if _, objects, err := rtld.Read(i.g.Memory.Mem, i.linker.at.Debug); err == nil {
		i.linker.objects, i.linker.list = objects, listRead
	}
}

// linkerCalled is called with one thread at the linker's breakpoint, which holds the
// linker's lock: no other thread changes the list. It is whole only when the linker says
// so.
func (i *image) linkerCalled() {
	if i.linker.at.Debug == 0 && !i.findDebug() {
		return
	}
	if i.linker.list == listUnread {
		i.knowObjects()
	}
	state, err := rtld.ReadState(i.g.Memory.Mem, i.linker.at.Debug)
	if err != nil || state != rtld.Consistent {
		return
	}
	_, objects, err := rtld.Read(i.g.Memory.Mem, i.linker.at.Debug)
	if err != nil {
		return
	}
	loaded, unloaded := difference(i.linker.objects, objects)
	i.linker.objects = objects
	if len(loaded)+len(unloaded) > 0 {
		i.objectsChanged(loaded, unloaded)
	}
	if i.linker.noMain {
		i.planMainByLinker()
	}
	if i.linker.fresh {
		i.linker.fresh = false
		i.c.rendezvous.announceHere(notify.Preinit)
	}
}

// findDebug finds the linker's list, whose address musl fills in only as it starts.
func (i *image) findDebug() bool {
	at, err := rtld.Find(i.g.Memory.Mem, i.linker.auxv, i.interpreterSymbol)
	if err == nil {
		i.linker.at.Debug = at.Debug
	}
	return i.linker.at.Debug != 0
}
