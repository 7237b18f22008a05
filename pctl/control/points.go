package control

import (
	"debug/elf"

	"ptools/internal/procfs"
	"ptools/internal/rtld"
	"ptools/pctl/bkpt"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

func bkptTable(m memory) *bkpt.Table { return bkpt.NewTable(m) }

// planPoints sets the breakpoints of the rendezvous points between exec and main.
//
//   - Preinit: the run-time linker has said for the first time that its list is whole,
//     or, without a linker, the program's first instruction.
//   - Postinit and Main: the first instruction of main. C libraries run the
//     executable's own initialisers from the function that calls main, so there is no
//     place between the last of them and main.
func (c *Controller) planPoints() {
	if !c.linker.fresh {
		return
	}
	auxv, err := procfs.ReadAuxv(c.pid)
	if err != nil {
		return
	}
	entry := auxv[atEntry]
	if c.points&notify.Preinit != 0 && c.linker.brk == nil {
		c.oneShot(entry, func() {
			c.linker.fresh = false
			c.announceHere(notify.Preinit)
		})
	}
	if c.points&(notify.Postinit|notify.Main) == 0 {
		return
	}
	if addr, ok := c.mainFunction(entry); ok {
		c.oneShot(addr, func() { c.announceHere(notify.Postinit, notify.Main) })
	}
}

// oneShot sets a breakpoint that goes when it is hit.
func (c *Controller) oneShot(addr uint64, f func()) {
	var b *Break
	b, _ = c.addBreak(addr, func(*Hit) {
		c.removeBreak(b)
		f()
	})
}

// announceHere makes rendezvous of those points that are wanted, when the handlers of
// this hit have returned.
func (c *Controller) announceHere(points ...notify.Point) {
	for _, p := range points {
		if c.points&p != 0 {
			c.points &^= p
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
	return rtld.MainFromEntry(c.mem, entry)
}

func function(o handle.Object, name string) (uint64, bool) {
	for _, s := range o.File.ByName(name) {
		addr := o.Bias + s.Addr
		if inText(o, s.Addr) {
			return addr, true
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
