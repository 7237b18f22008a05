package pctl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ptools/internal/procfs"
	"ptools/pctl/control"
	"ptools/pctl/notify"
)

// DefaultFollowed is how many processes a tree may have at a time unless its Follow says otherwise.
const DefaultFollowed = 4096

// Follow has the descendants of a process controlled as well. Each is a Process of the same Session, with the options of
// the grab that began it: release mode, trap, and those points of Stop that can still come. A child is controlled from
// its first instruction. If it shares its parent's memory (vfork(2), posix_spawn(3)), it is controlled from the first
// instruction of the program that it executes. A child has the breakpoints of its parent, with the same Handlers and
// counts of its own. A child that is not followed is let go with clean text. KindUnfollowed of its parent says why,
// unless Which refused it.
//
// All processes of a tree share one control goroutine, so all of them wait for a Handler of one.
type Follow struct {
	// Which is called on the control goroutine for each process that could be followed, and says whether it is. It is
	// called again each time that a followed process executes a program (Birth.Executes, with its Command). A process
	// that it refuses then is released in front of the program's first instruction. To follow processes by their
	// programs, return true where Executes is false. Nil: all are followed.
	Which func(Birth) bool
	// Limit is how many processes the tree may have at a time, the first one included; zero: DefaultFollowed.
	Limit int
	// Begin is called on the control goroutine with each Process that is followed, before it runs. Streams of
	// events that are opened there miss no event, and breakpoints that are set there miss no hit. The callee
	// owns the Process: it has to close it, later and on another goroutine. Begin must not be nil.
	Begin func(*Process)
}

// Birth is a process that could be followed.
type Birth struct {
	PID, Parent int
	Depth       int    // 1: made by the process that was grabbed or created
	Command     string // name (comm, at most 15 bytes of the target's choice): of the parent, as long as the process has executed nothing
	Executes    bool   // it has just executed a program
	Present     bool   // it existed before the grab
}

var errNoBegin = errors.New("Follow has no Begin")

// born returns the options for a new process that is followed, nil for one that is not.
func (s *Session) born(parent *controlled, b control.Birth) (*control.Options, error) {
	f := parent.follow
	limit := f.Limit
	if limit == 0 {
		limit = DefaultFollowed
	}
	birth := Birth{PID: b.PID, Parent: b.Parent.PID(), Depth: parent.depth + 1, Executes: b.Executes, Present: b.Present}
	birth.Command, _ = procfs.ReadComm(b.PID, b.PID)
	switch {
	case f.Which != nil && !f.Which(birth):
		return nil, nil
	case f.Begin == nil:
		return nil, errNoBegin
	case b.Controlled >= limit:
		return nil, fmt.Errorf("%d processes are followed already", b.Controlled)
	}
	// Not a copy of parent: who grabs it may just be storing its Controller.
	child := &controlled{
		mode: parent.mode, linker: parent.linker, trap: parent.trap, starts: parent.starts, follow: f,
		parent: birth.Parent, depth: birth.Depth,
		stop: slices.DeleteFunc(slices.Clone(parent.stop), func(p Point) bool {
			return p == PointCreate || p == PointGrab && !b.Present
		}),
	}
	o := s.control(child)
	o.Stays = func(c *control.Controller) bool {
		if f.Which == nil {
			return true
		}
		again := birth
		again.Command, _ = procfs.ReadComm(b.PID, b.PID)
		again.Executes = true
		return f.Which(again)
	}
	o.Begin = func(c *control.Controller) error {
		child.Controller = c
		return s.begun(child, b)
	}
	return o, nil
}

// begun makes the Process of a process that is followed.
func (s *Session) begun(held *controlled, b control.Birth) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.grabs.Done()
	h, err := s.registry.Adopt(context.Background(), held.PID(), held)
	if err != nil {
		return err
	}
	p, err := s.add(h, false)
	if err != nil {
		return err
	}
	held.follow.Begin(p)
	for _, from := range s.breakpointsOf(b.Parent) {
		if from.where.isAddr() && b.Executes {
			continue // of the parent's program
		}
		if _, err := breakAt(context.Background(), p, from.where, from.find, from.handler); err != nil {
			p.refused(from.where, err)
		}
	}
	return nil
}

// breakpointsOf returns the breakpoints that were set in a process.
func (s *Session) breakpointsOf(c *control.Controller) (all []*Breakpoint) {
	s.mu.Lock()
	procs := slices.DeleteFunc(slices.Clone(s.procs), func(p *Process) bool { return p.c != c })
	s.mu.Unlock()
	for _, p := range procs {
		all = append(all, p.Breakpoints()...)
	}
	return all
}

// refused reports that a breakpoint of the parent could not be set in p.
func (p *Process) refused(where Where, err error) {
	var known *Error
	if errors.As(err, &known) {
		err = known.Err
	}
	p.c.Bus().Publish(notify.Event{
		Kind: notify.BreakRefused, PID: p.PID(), Addr: where.Addr, Symbol: where.Symbol, Offset: where.Offset, Object: where.Object, Err: err,
	})
}

// Breakpoints returns the breakpoints that were set through p and those that it has from its parent, in the order
// in which p got them.
func (p *Process) Breakpoints() []*Breakpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*Breakpoint, 0, len(p.owned))
	for _, b := range p.owned {
		if b != nil {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *Breakpoint) int { return a.number - b.number })
	return all
}

// keep marks a breakpoint as one that no client has set. It is still removed when p is closed.
func (p *Process) keep(b *Breakpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owned != nil {
		p.owned[b.b] = nil
	}
}

// awaitTree has Close wait for the processes that follow held, and for threads of theirs that were left when they were
// closed.
func (s *Session) awaitTree(held *controlled) {
	if held.follow != nil {
		s.grabs.Go(held.AwaitAll)
	}
}

// Leave announces that all processes of the Session are about to be let go, each by its own Release or Close. No more
// processes are followed. Threads of a tree that sleep in a system call then need not be woken to be let go. They are
// traced until the last process of the tree has been released. Release and Close do not wait for that; KindReleased
// and the Session's Close do.
func (s *Session) Leave() {
	s.mu.Lock()
	procs := slices.Clone(s.procs)
	s.mu.Unlock()
	leave(procs)
}

// leave announces that processes are about to be let go.
func leave(procs []*Process) {
	for _, p := range procs {
		if p.c != nil {
			p.c.Leave()
		}
	}
}
