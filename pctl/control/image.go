package control

import (
	"ptools/internal/procfs"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// keptSpaces is how many maps of programs before an exec stay open, for stacks that
// were taken in them and have still to be symbolized.
const keptSpaces = 4

// followImage takes notice of the address space that the target has now: its map,
// its run-time linker, the places where it has to be stopped, and the breakpoints by
// symbol. After an exec, or when the target is seized.
func (c *Controller) followImage() error {
	c.table = c.newTable()
	c.table.Observe(c.watch)
	c.class = procfs.ExeClass(c.pid)
	c.linker = linker{fresh: c.started || c.imageNew, slots: c.linker.slots}
	space, err := handle.NewSpace(c.pid, c.files)
	if err != nil {
		return err
	}
	c.useSpace(space)
	if c.holds == 0 {
		c.table.Arm()
	}
	// Without it, in the middle of an exec or of its end, there is no linker to follow
	// and no point to plan; either will be reported.
	c.linker.auxv = space.Auxv()
	if c.linkerWanted() {
		c.followLinker()
	}
	c.planPoints(c.points)
	c.lookUp()
	return nil
}

// useSpace makes a map the present one.
func (c *Controller) useSpace(s *handle.Space) {
	if old := c.space.Swap(s); old != nil {
		c.retire(old)
	}
}

// retire keeps the map of the program before an exec for a while.
func (c *Controller) retire(s *handle.Space) {
	if len(c.retired) == keptSpaces {
		c.retired[0].Close()
		c.retired = append(c.retired[:0], c.retired[1:]...)
	}
	c.retired = append(c.retired, s)
}

// linkerWanted reports whether anybody needs to know what the linker does. If not,
// no trap is planted for it.
func (c *Controller) linkerWanted() bool { return c.opt.Linker || c.linkerNeeded() }

// linkerNeeded reports whether that is for more than events of it.
func (c *Controller) linkerNeeded() bool {
	return len(c.symbolic) > 0 || c.linker.noMain || c.linker.fresh && c.points.Has(notify.Preinit)
}
