package control

import (
	"sync/atomic"

	"ptools/internal/elfsym"
	"ptools/internal/program"
	"ptools/internal/tracee"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// image is what control does about the program that the target has executed last: package program reads it, and
// here are the breakpoints that are set by what it says.
type image struct {
	c        *Controller
	g        *tracee.Group
	files    *elfsym.Cache
	space    atomic.Pointer[handle.Space]
	program  *program.Image
	lacking  atomic.Pointer[error] // what the program of a created process lacked when it began
	brk      *Break                // where the run-time linker calls
	fresh    bool                  // the program was just exec'd: no initialiser has run
	noMain   bool                  // where main is has still to be found out
	symbolic []*SymbolBreak
	imageNew bool            // an exec has been seen
	retired  []*handle.Space // of images before an exec
}

func (i *image) init(c *Controller) {
	if i.c, i.g, i.files = c, &c.tracees, c.opt.Files; i.files == nil {
		i.files = elfsym.NewCache(keptFiles)
	}
	i.program = program.Unreadable(c.tracees.PID, nil, nil)
}

// keptSpaces is how many maps of programs before an exec stay open, for stacks that
// were taken in them and have still to be symbolized.
const keptSpaces = 4

// followImage takes notice of the address space that the target has now: its map,
// its run-time linker, the places where it has to be stopped, and the breakpoints by
// symbol. After an exec, or when the target is seized.
func (i *image) followImage() error {
	i.c.traps.table = i.c.traps.newTable()
	i.c.traps.table.Observe(i.g.Memory.Watch)
	i.brk, i.fresh, i.noMain = nil, i.imageNew, false
	space, err := handle.NewSpace(i.g.PID, i.files)
	if err != nil {
		return err
	}
	i.useSpace(space)
	if i.g.Stopper.Holds() == 0 {
		i.c.traps.table.Arm()
	}
	// Without an auxiliary vector, in the middle of an exec or of its end, there is no linker to
	// follow and no point to plan; either will be reported.
	of := program.New(i.g.PID, space, &i.g.Memory, i.program)
	i.program = of
	if i.linkerWanted() {
		i.followLinker()
	}
	if of == i.program { // else another exec was reported meanwhile, and dealt with
		i.planPoints(i.c.rendezvous.points)
		i.lookUp()
	}
	return nil
}

// useSpace makes a map the present one.
func (i *image) useSpace(s *handle.Space) {
	if old := i.space.Swap(s); old != nil {
		i.retire(old)
	}
}

// retire keeps the map of the program before an exec for a while.
func (i *image) retire(s *handle.Space) {
	if len(i.retired) == keptSpaces {
		i.retired[0].Close()
		i.retired = append(i.retired[:0], i.retired[1:]...)
	}
	i.retired = append(i.retired, s)
}

// linkerWanted reports whether it has to be known what the linker does. If not,
// no trap is planted for it.
func (i *image) linkerWanted() bool { return i.c.opt.Linker || i.linkerNeeded() }

// linkerNeeded reports whether that is for more than events of it.
func (i *image) linkerNeeded() bool {
	return len(i.symbolic) > 0 || i.noMain || i.fresh && i.c.rendezvous.points.Has(notify.Preinit)
}
