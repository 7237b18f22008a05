package control

import (
	"debug/elf"

	"ptools/internal/procfs"
	"ptools/internal/rtld"
	"ptools/pctl/handle"
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
// Where main is is known from the program's symbols or, if it is stripped, from its
// first instructions. Some position-independent programs tell it only when the
// linker has relocated them, others that the linker runs as a command only when it
// has mapped them. A program that does not tell it at all has neither point.
func (i *image) planPoints(points notify.Points) {
	if !i.linker.fresh {
		return
	}
	entry := i.linker.auxv[procfs.AuxEntry]
	if points.Has(notify.Preinit) && i.linker.brk == nil {
		i.oneShot(entry, func() {
			i.linker.fresh = false
			i.c.rendezvous.announceHere(notify.Preinit)
		})
	}
	if !points.Has(notify.Postinit) && !points.Has(notify.Main) || i.planMain(entry) {
		return
	}
	if i.linker.noMain = true; i.linker.brk == nil {
		i.followLinker()
	}
}

// planMainByLinker is planMain when the linker has relocated the program.
func (i *image) planMainByLinker() {
	i.linker.noMain = false
	if i.planMain(i.linker.auxv[procfs.AuxEntry]) || len(i.linker.objects) == 0 {
		return
	}
	// The first on the list is the program, also when the linker was run as a command.
	first := i.linker.objects[0]
	if o, ok := i.c.Space().Object(first.Dynamic); ok && o.File != nil {
		i.planMain(first.Base + o.File.Entry())
	}
}

// planMain sets the breakpoint at main of the program that begins at entry, and
// reports whether it could be found.
func (i *image) planMain(entry uint64) bool {
	addr, ok := i.mainFunction(entry)
	return ok && i.oneShot(addr, func() { i.c.rendezvous.announceHere(notify.Postinit, notify.Main) })
}

// oneShot sets a breakpoint that goes when it is hit.
func (i *image) oneShot(addr uint64, f func()) bool {
	var b *Break
	b, err := i.c.traps.addBreak(addr, func(*Hit) {
		i.c.traps.removeBreak(b)
		f()
	}, forUs)
	return err == nil
}

// mainFunction returns the address of the function in which the program proper
// begins: main, or main.main of a Go program; of a stripped one, what its first
// instructions hand to the C library.
func (i *image) mainFunction(entry uint64) (uint64, bool) {
	exe, ok := i.c.Space().Object(entry)
	if !ok || exe.File == nil {
		return 0, false
	}
	if _, isGo := exe.File.Go(); isGo {
		if addr, ok := function(exe, "main.main"); ok {
			return addr, true
		}
	}
	if addr, ok := function(exe, "main"); ok {
		return addr, true
	}
	addr, ok := rtld.MainFromEntry(i.c, entry) // c shows the text without our traps
	return addr, ok && exe.Start <= addr && addr < exe.End && inText(exe, addr-exe.Bias)
}

func function(o handle.Object, name string) (uint64, bool) {
	for _, s := range o.File.ByName(name) {
		if inText(o, s.Addr) {
			return o.Bias + s.Addr, true
		}
	}
	return 0, false
}

func inText(o handle.Object, vaddr uint64) bool {
	for _, s := range o.File.Segments() {
		if s.Flags&elf.PF_X != 0 && vaddr-s.Vaddr < s.Memsz {
			return true
		}
	}
	return false
}
