package pctl

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"

	"ptools/internal/goroutines"
	"ptools/internal/inner"
	"ptools/internal/procfs"
	"ptools/pctl/control"
	"ptools/pctl/handle"
)

// Process is one reference to a grabbed or created process. Its methods may be
// called from any goroutine; see the package comment for what Handlers may do.
type Process struct {
	access
	s        *Session
	h        *handle.Handle
	c        *control.Controller // nil if the process is not controlled
	readOnly bool                // control was not asked for
	created  string              // path of the program, if we started it
	parent   int                 // process that it follows; 0: none
	mode     Mode                // of its release
	walk     walker
	golang   goroutines.Finder
	returns  *returns // calls whose return a caller waits for; nil until there is one

	once  sync.Once // of Close
	index int       // in s.procs; guarded by s.mu

	mu      sync.Mutex
	closed  bool
	streams map[*Events]struct{}    // nil until there is one
	calls   map[*Calls]struct{}     // the same
	owned   map[remover]*Breakpoint // nil until there is one; the value is nil for what is no breakpoint of a client
	numbers int                     // of breakpoints
}

// access is how the sampling packages of this module reach the controller.
type access = inner.Access

// PID returns the process's number in our pid namespace.
func (p *Process) PID() int { return p.h.PID() }

// ReadOnly reports that the process was grabbed without control.
func (p *Process) ReadOnly() bool { return p.readOnly }

// Continue lets a process run that is held at a rendezvous. It returns
// ErrNotHeld if the process is not held.
func (p *Process) Continue(ctx context.Context) error {
	c, err := p.control("continue")
	if err != nil {
		return err
	}
	return p.fail("continue", c.Continue(ctx))
}

// StopAt asks for further rendezvous points. Like those of a grab, each is reached
// once. So PointExec can be asked for again and again, as can PointPreinit,
// PointPostinit and PointMain of programs that are executed later. The best time for
// that is while the process is held at PointExec. StopAt may be called from a
// Handler.
func (p *Process) StopAt(ctx context.Context, points ...Point) error {
	c, err := p.control("stop at")
	if err != nil {
		return err
	}
	return p.fail("stop at "+names(points), c.StopAt(ctx, places(points)...))
}

// Held returns the rendezvous point at which the process is held, and whether
// it is.
func (p *Process) Held() (Point, bool) {
	if p.c == nil {
		return 0, false
	}
	at, held := p.c.Held()
	return Point(at), held
}

// Threads returns the numbers of the process's threads, in no particular
// order. The caller may keep and change the slice.
func (p *Process) Threads() ([]int, error) {
	if err := p.open("threads"); err != nil {
		return nil, err
	}
	if p.c != nil {
		return append([]int(nil), p.c.Threads()...), nil
	}
	tids, err := procfs.Tasks(p.PID(), nil)
	return tids, p.fail("threads", err)
}

// Lookup returns the function at an address, with its source line if that is
// known, and before it the functions inlined there. If nothing is known, there
// is one frame with PC alone.
func (p *Process) Lookup(pc uint64) []Frame {
	return framesOf(p.space().Symbolize(pc, handle.Lines, nil))
}

// Near returns at most n names of functions that resemble the symbol of where, the
// nearest first, in the objects that it names. It looks at all their symbols.
func (p *Process) Near(where Where, n int) []string {
	if where.Symbol == "" {
		return nil
	}
	return p.space().Near(where.Object, where.Symbol, n)
}

// Lack returns why an object that may have the symbol of where could not be read, as on a file
// system that does not answer; nil if all could.
func (p *Process) Lack(where Where) error {
	space := p.space()
	_ = space.Lack() // of others
	space.Named(where.Object)
	return space.Lack()
}

// Release lets the process go now, in the mode in which it was grabbed, also
// if there are other references. Their streams of events get KindReleased, or
// KindUndead if the process was killed. The references stay valid and have to
// be closed. Release returns when the process is free. To release it again is
// no error.
func (p *Process) Release(ctx context.Context) error {
	c, err := p.control("release")
	if err != nil {
		return err
	}
	return p.fail("release", c.Release(ctx, control.Mode(p.mode)))
}

// Done is closed when control of the process has ended: it was let go, has
// ended, or was lost. It is nil for a process grabbed read-only.
func (p *Process) Done() <-chan struct{} {
	if p.c == nil || p.readOnly {
		return nil
	}
	return p.c.Done()
}

// Close drops the reference: its breakpoints and Calls are removed, and its streams of
// events are closed. Close of the last reference lets the process go in the
// mode in which it was grabbed, and waits until it is free. To close again is
// no error, and waits as well. A Handler must not call Close (ErrOnControl).
func (p *Process) Close() (err error) {
	if p.c != nil && p.c.OnControl() {
		return p.fail("close", ErrOnControl)
	}
	p.once.Do(func() { err = p.close() })
	return err
}

func (p *Process) close() (err error) {
	p.mu.Lock()
	p.closed = true
	streams, owned := p.streams, p.owned
	p.streams, p.owned = nil, nil
	counting := slices.Collect(maps.Keys(p.calls))
	p.mu.Unlock()
	for _, c := range counting {
		err = errors.Join(err, c.Close())
	}
	for e := range streams {
		e.shut()
	}
	if len(owned) > 0 {
		// In an ended process there is nothing to remove.
		p.c.Do(context.Background(), func() {
			for r := range owned {
				r.Remove(context.Background())
			}
		})
	}
	return errors.Join(err, p.s.release(p))
}

// space returns the map of the address space that the process has now. An exec
// replaces it.
func (p *Process) space() *handle.Space { return p.h.Space() }

// control returns the controller for an operation.
func (p *Process) control(op string) (*control.Controller, error) {
	if err := p.open(op); err != nil {
		return nil, err
	}
	if p.c == nil || p.readOnly {
		return nil, p.fail(op, ErrReadOnly)
	}
	return p.c, nil
}

// open refuses the use of a closed Process.
func (p *Process) open(op string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.fail(op, os.ErrClosed)
	}
	return nil
}

// fail gives an error its operation and process.
func (p *Process) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return &Error{Op: op, PID: p.PID(), Err: err}
}

// awaitExit waits for the end of a process that we do not control.
func awaitExit(ctx context.Context, p *Process) error {
	fd, err := procfs.OpenPIDFD(p.PID())
	if err == nil {
		defer fd.Close()
	}
	if !p.h.Alive() { // the number may be another's by now
		return nil
	}
	if err != nil {
		return err
	}
	return fd.Wait(ctx)
}
