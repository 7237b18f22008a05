package control

import (
	"sync/atomic"

	"ptools/internal/elfsym"
	"ptools/internal/program"
	"ptools/internal/tracee"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// image is what control does about the program that the target has executed last. Package
// program reads that program. image has the breakpoints that are set by what package
// program finds.
type image struct {
	c        *Controller
	g        *tracee.Group
	files    *elfsym.Cache
	space    atomic.Pointer[handle.Space]
	program  *program.Image
	lacking  atomic.Pointer[error] // what the program of a created process lacked when it began
	brk      *Break                // at the address that the run-time linker calls
	fresh    bool                  // the program was just exec'd: no initialiser has run
	noMain   bool                  // the address of main is still to be found
	symbolic []*SymbolBreak
	imageNew bool            // an exec has been seen
	retired  []*handle.Space // maps of earlier programs
}

func (i *image) init(c *Controller) {
	if i.c, i.g, i.files = c, &c.tracees, c.opt.Files; i.files == nil {
		i.files = elfsym.NewCache(keptFiles)
	}
	i.program = program.Unreadable(c.tracees.PID, nil, nil)
}

// keptSpaces is how many maps of earlier programs stay open, for stacks that were taken in
// them and are still to be symbolized.
const keptSpaces = 4

// followImage reads the address space that the target has now: its map, its run-time
// linker, the places where it has to be stopped, and the breakpoints by symbol. It is
// called when the target is seized and after an exec.
func (i *image) followImage() error {
	i.c.traps.table = i.c.traps.newTable()
	i.c.traps.table.Observe(i.g.Memory.Watch)
	i.brk, i.fresh, i.noMain = nil, i.imageNew, false
	for _, s := range i.symbolic {
		s.beginMissed() // before the map is read
	}
	space, err := handle.NewSpace(i.g.PID, i.files)
	if err != nil {
		return err
	}
	i.useSpace(space)
	if i.g.Stopper.Holds() == 0 {
		i.c.traps.table.Arm()
	}
	// In the middle of an exec or of its end, the target has no auxiliary vector. Then
	// there is no linker to follow and no point to plan. Either will be reported.
	of := program.New(i.g.PID, space, &i.g.Memory, i.program)
	i.program = of
	if i.linkerWanted() {
		i.followLinker()
	}
	if of == i.program { // else another exec was reported meanwhile, and handled
		i.planPoints(i.c.rendezvous.points)
		i.lookUp()
	}
	return nil
}

// useSpace makes s the present map.
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

// linkerWanted reports whether the run-time linker has to be followed. If not, no trap is
// planted for it.
func (i *image) linkerWanted() bool { return i.c.opt.Linker || i.linkerNeeded() }

// linkerNeeded reports whether the linker has to be followed for more than its events.
func (i *image) linkerNeeded() bool {
	return len(i.symbolic) > 0 || i.noMain || i.fresh && i.c.rendezvous.points.Has(notify.Preinit)
}
