package control

import (
	"errors"
	"syscall"

	"ptools/internal/program"
	"ptools/internal/rtld"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// followLinker sets the breakpoint at the address that the run-time linker calls.
func (i *image) followLinker() {
	if i.brk != nil {
		return
	}
	of := i.program
	addr, err := of.FindLinker()
	if err != nil {
		return
	}
	p := forEvents
	if i.linkerNeeded() {
		p = forUs
	}
	b, refused := i.c.traps.addBreak(of, addr, i.linkerCalled, p)
	if refused == errReplacedProgram {
		return // followImage has followed the linker of the other program
	}
	i.brk = b
	if !errors.Is(refused, syscall.ESRCH) { // else the process is being killed
		i.c.traps.killRisk.unseen(refused)
	}
	of.Follow()
}

// linkerCalled is called when a thread has hit the linker's breakpoint.
func (i *image) linkerCalled(h *Hit) {
	of := i.program
	var before map[*Break]bool
	late := h.Late()
	if late {
		before = i.places()
	}
	change, ok := of.LinkerCalled()
	if !ok {
		return
	}
	if len(change.Loaded)+len(change.Unloaded) > 0 {
		i.objectsChanged(change)
	}
	if of != i.program {
		return // another thread has executed a program meanwhile
	}
	if late {
		i.tellLate(before)
	}
	if i.noMain {
		i.planMainByLinker()
	}
	if i.fresh {
		i.fresh = false
		i.c.rendezvous.announceHere(notify.Preinit)
	}
}

// objectsChanged updates symbols and breakpoints, and notifies the clients.
func (i *image) objectsChanged(change program.Change) {
	if i.c.Space().Refresh() == nil {
		i.lookUp()
	}
	for _, o := range change.Unloaded {
		i.publishObject(notify.Unloaded, o)
	}
	for _, o := range change.Loaded {
		i.publishObject(notify.Loaded, o)
	}
}

func (i *image) publishObject(k notify.Kind, o rtld.Object) {
	if !i.program.IsExecutable(o) { // its exec was announced
		i.c.publish(notify.Event{Kind: k, Path: o.Name, Base: o.Base, Namespace: o.Namespace})
	}
}

// lookUp looks up the breakpoints by symbol in what has been mapped since the last call. It
// removes those in what is mapped no more: something else may come to be at their
// addresses.
func (i *image) lookUp() {
	come, gone := i.program.Remapped()
	for _, o := range gone {
		for _, s := range i.symbolic {
			s.drop(o.Start, o.End)
		}
	}
	if len(come) == 0 {
		return
	}
	of, byName := i.program, map[string][]handle.Object{}
	for _, s := range i.symbolic {
		objects, ok := byName[s.of.Object]
		if !ok {
			objects = of.Named(s.of.Object, come)
			byName[s.of.Object] = objects
		}
		s.resolve(of, objects)
	}
}
