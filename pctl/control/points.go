package control

import (
	"ptools/internal/program"
	"ptools/pctl/notify"
)

// planPoints sets the breakpoints of the rendezvous points between exec and main.
//
//   - Preinit: the run-time linker has said for the first time that its list is whole,
//     or, without a linker, the program's first instruction.
//   - Postinit and Main: the first instruction of main. C libraries run the
//     executable's own initialisers from the function that calls main, so there is no
//     place between the last of them and main.
//
// The address of main is known from the program's symbols or, if it is stripped, from its
// first instructions. Some position-independent programs show it only when the linker has
// relocated them. Some that the linker runs as a command show it only when it has mapped
// them. A program that does not show it at all has neither Postinit nor Main.
func (i *image) planPoints(points notify.Points) {
	if !i.fresh {
		return
	}
	of, entry := i.program, i.program.Entry()
	if points.Has(notify.Preinit) && i.brk == nil {
		i.oneShot(of, entry, func() {
			i.fresh = false
			i.c.rendezvous.announceHere(notify.Preinit)
		})
	}
	if of != i.program {
		return // the points of the other program are planned
	}
	if !points.Has(notify.Postinit) && !points.Has(notify.Main) || i.planMain(of, entry) {
		return
	}
	if i.noMain = true; i.brk == nil {
		i.followLinker()
	}
}

// planMainByLinker is planMain for a program that the linker has relocated.
func (i *image) planMainByLinker() {
	i.noMain = false
	of := i.program
	if i.planMain(of, of.Entry()) {
		return
	}
	if entry, ok := of.LoadedEntry(); ok {
		i.planMain(of, entry)
	}
}

// planMain sets the breakpoint at main of the program that begins at entry, and
// reports whether it could be found.
func (i *image) planMain(of *program.Image, entry uint64) bool {
	addr, ok := of.Main(entry, i.c) // c shows the text without our traps
	return ok && i.oneShot(of, addr, func() { i.c.rendezvous.announceHere(notify.Postinit, notify.Main) })
}

// oneShot sets a breakpoint that is removed when it is hit.
func (i *image) oneShot(of *program.Image, addr uint64, f func()) bool {
	var b *Break
	b, err := i.c.traps.addBreak(of, addr, func(*Hit) {
		i.c.traps.removeBreak(b)
		f()
	}, forUs)
	return err == nil
}
