package control

import (
	"context"
	"debug/elf"

	"ptools/internal/procfs"
	"ptools/internal/rtld"
	"ptools/pctl/bkpt"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// newTable is for the present address space.
func (c *Controller) newTable() *bkpt.Table {
	t := bkpt.NewTable(c.mem)
	t.SetGround(&c.ground)
	return t
}

// StopAt asks for more rendezvous points, each of which is announced once, like those of
// Options.Stop. Of Preinit, Postinit and Main those of the program are meant that has just
// been executed, until it comes there, and else of the next one. It may be called from any
// goroutine and from handlers.
func (c *Controller) StopAt(ctx context.Context, points ...notify.Point) error {
	return c.either(ctx, func() {
		more := notify.PointsOf(points...) &^ c.points
		c.points |= more
		if c.linkerWanted() {
			c.followLinker()
		}
		c.planPoints(more)
	})
}

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
func (c *Controller) planPoints(points notify.Points) {
	if !c.linker.fresh {
		return
	}
	entry := c.linker.auxv[procfs.AuxEntry]
	if points.Has(notify.Preinit) && c.linker.brk == nil {
		c.oneShot(entry, func() {
			c.linker.fresh = false
			c.announceHere(notify.Preinit)
		})
	}
	if !points.Has(notify.Postinit) && !points.Has(notify.Main) || c.planMain(entry) {
		return
	}
	if c.linker.noMain = true; c.linker.brk == nil {
		c.followLinker()
	}
}

// planMainByLinker is planMain when the linker has relocated the program.
func (c *Controller) planMainByLinker() {
	c.linker.noMain = false
	if c.planMain(c.linker.auxv[procfs.AuxEntry]) || len(c.linker.objects) == 0 {
		return
	}
	// The first on the list is the program, also when the linker was run as a command.
	first := c.linker.objects[0]
	if o, ok := c.Space().Object(first.Dynamic); ok && o.File != nil {
		c.planMain(first.Base + o.File.Entry())
	}
}

// planMain sets the breakpoint at main of the program that begins at entry, and
// reports whether it could be found.
func (c *Controller) planMain(entry uint64) bool {
	addr, ok := c.mainFunction(entry)
	return ok && c.oneShot(addr, func() { c.announceHere(notify.Postinit, notify.Main) })
}

// oneShot sets a breakpoint that goes when it is hit.
func (c *Controller) oneShot(addr uint64, f func()) bool {
	var b *Break
	b, err := c.addBreak(addr, func(*Hit) {
		c.removeBreak(b)
		f()
	}, forUs)
	return err == nil
}

// announceHere makes rendezvous of those points that are wanted, when the handlers of
// this hit have returned.
func (c *Controller) announceHere(points ...notify.Point) {
	for _, p := range points {
		if c.points.Take(p) {
			c.here = append(c.here, p)
			c.wantPoint = true
		}
	}
}

// mainFunction returns the address of the function in which the program proper
// begins: main, or main.main of a Go program; of a stripped one, what its first
// instructions hand to the C library.
func (c *Controller) mainFunction(entry uint64) (uint64, bool) {
	exe, ok := c.Space().Object(entry)
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
	addr, ok := rtld.MainFromEntry(c, entry) // c shows the text without our traps
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
