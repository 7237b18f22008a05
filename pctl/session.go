package pctl

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"ptools/internal/calls"
	"ptools/internal/elfsym"
	"ptools/internal/inner"
	"ptools/internal/ptrace"
	"ptools/pctl/control"
	"ptools/pctl/handle"
)

// DefaultCacheLimit is how many idle read-only handles a Session keeps unless
// its options say otherwise.
const DefaultCacheLimit = handle.DefaultIdle

// cachedFiles is how many executables and libraries stay open for their
// symbols.
const cachedFiles = 256

// SessionOptions of NewSession. Nil means the zero value.
type SessionOptions struct {
	// CacheLimit is how many read-only handles without a reference are kept.
	// Zero: DefaultCacheLimit; negative: none.
	CacheLimit int
	// KeepAwake keeps the machine's idle processors from sleeping while breakpoints of
	// the Session are hit more than a thousand times a second. It acts on the whole
	// machine, through /dev/cpu_dma_latency. Where that may not be written to, which only
	// root may, nothing changes. Most of the cost of a hit is the waking of processors,
	// ours and the thread's. Without that, one thread makes two to four times as many
	// hits on a virtual machine. All processors draw more power meanwhile.
	KeepAwake bool
	// Trace receives, as text, the kernel's reports about each controlled process and
	// what was done to it. The text of a process comes in one Write, when control of
	// it ends; Writes for several processes may come at the same time. Trace is for
	// finding bugs in this package. Nil: nothing is recorded, unless the environment
	// variable PTOOLS_TRACE is set. Then the text goes to standard error.
	Trace io.Writer
}

// QuietStops has the kernel no longer send the calling program SIGCHLD for stops of its children and of controlled
// threads (SA_NOCLDSTOP), until it ends. Each SIGCHLD runs the Go runtime's handler; hits and pauses are cheaper
// without. QuietStops is not for a program that wants to be notified of job-control stops of its own children.
// SIGCHLD still comes when they end. Any goroutine may call it.
func QuietStops() error { return ptrace.QuietStops() }

// Session is a set of grabbed processes and what they share: handles, and the
// symbols of files. Each file is read once, however many processes map it.
// Programs usually have one. Its methods may be called from any goroutine.
type Session struct {
	files     *elfsym.Cache
	keepAwake bool // SessionOptions.KeepAwake
	trace     io.Writer
	registry  *handle.Registry
	grabs     sync.WaitGroup // grabs and creations under way

	mu     sync.Mutex
	closed bool
	procs  []*Process     // each knows its index
	vetted map[int]uint64 // start times of the processes that a read-only grab has checked
}

// NewSession returns a Session without processes.
func NewSession(o *SessionOptions) *Session {
	if o == nil {
		o = new(SessionOptions)
	}
	limit := DefaultCacheLimit
	if o.CacheLimit != 0 {
		limit = max(o.CacheLimit, 0)
	}
	files := elfsym.NewCache(cachedFiles)
	registry, err := handle.NewRegistry(limit, files)
	if err != nil {
		panic(err) // the only error is a negative limit
	}
	return &Session{
		files: files, registry: registry, keepAwake: o.KeepAwake, trace: o.Trace,
		vetted: make(map[int]uint64),
	}
}

// UnreadFiles says which mapped files may not be read, and why. A file is named once. Their functions have only the names
// that the process has in memory.
func (s *Session) UnreadFiles() []error { return s.files.Refused() }

// Close closes every Process of the Session, which lets the controlled ones go
// in their release modes. It frees what idle handles and open files hold: a
// stack that has not been symbolized by then gets no names. Close returns when
// that is done and no grab is under way any more. To close again is no error. A
// Handler must not call Close (ErrOnControl).
func (s *Session) Close() error {
	s.mu.Lock()
	for _, p := range s.procs {
		if p.c != nil && p.c.OnControl() {
			s.mu.Unlock()
			return p.fail("close session", ErrOnControl)
		}
	}
	procs := slices.Clone(s.procs)
	s.closed = true
	s.mu.Unlock()
	leave(procs)
	errs := make([]error, len(procs))
	var wg sync.WaitGroup
	for i, p := range procs {
		wg.Go(func() { errs[i] = p.Close() })
	}
	wg.Wait()
	s.grabs.Wait()
	s.registry.Close()
	s.files.Close()
	return errors.Join(errs...)
}

// Missing returns which debug information was needed for names and could not be opened, an error a file: files of split
// units (.dwo, .dwp), and the supplementary files that dwz makes. Inlined functions are not shown then.
func (s *Session) Missing() []error { return s.files.Missing() }

// begin announces a grab or a creation; grabs.Done has to follow.
func (s *Session) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return os.ErrClosed
	}
	s.grabs.Add(1)
	return nil
}

// newTrace returns the trace of one more process, or nil.
func (s *Session) newTrace() *control.Trace {
	if s.trace == nil {
		return nil
	}
	return control.NewTrace(0, s.trace)
}

// add makes the reference that a grab returns. If the Session was closed
// meanwhile the handle is released.
func (s *Session) add(h *handle.Handle, readOnly bool) (*Process, error) {
	p := &Process{s: s, h: h, readOnly: readOnly}
	p.access = inner.Through(func() (*control.Controller, error) { return p.control("control") },
		func(ctx context.Context) (calls.Planter, error) { return planterOf(ctx, p) })
	if held, ok := h.Control().(*controlled); ok {
		p.c, p.created, p.parent, p.mode = held.Controller, held.created, held.parent, held.mode
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		p.index = len(s.procs)
		s.procs = append(s.procs, p)
	}
	s.mu.Unlock()
	if closed {
		return nil, errors.Join(os.ErrClosed, h.Release())
	}
	return p, nil
}

// release drops a reference that has been closed. The Session knows the
// reference until then, so that its Close waits.
func (s *Session) release(p *Process) error {
	err := p.h.Release()
	s.mu.Lock()
	last := len(s.procs) - 1
	moved := s.procs[last]
	s.procs[p.index], s.procs[last] = moved, nil
	s.procs, moved.index = s.procs[:last], p.index
	s.mu.Unlock()
	return p.fail("release", err)
}
