package pctl

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"ptools/internal/elfsym"
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
	// CacheLimit is how many handles of processes that were grabbed read-only
	// are kept when they have no reference any more; zero: DefaultCacheLimit,
	// negative: none.
	CacheLimit int
	// KeepAwake acts on the whole machine: its idle processors do not sleep while
	// breakpoints of the Session are hit more than a thousand times a second
	// (/dev/cpu_dma_latency; where that may not be written to, as by every user but root,
	// nothing changes).
	// Most of what a hit costs is the waking of a processor, of ours and of the
	// thread's: without that, one thread makes two to four times as many hits on a
	// virtual machine. All processors draw more power meanwhile.
	KeepAwake bool
	// Trace receives what the kernel said about each controlled process and what was
	// done to it, as text, when control of that process ends: one Write for each, also
	// at the same time. It is for those who look for a mistake in this package. Nil:
	// nothing is recorded, unless the environment variable PTOOLS_TRACE is set; then
	// the text goes to standard error.
	Trace io.Writer
}

// QuietStops has the kernel send the calling program no SIGCHLD any more for stops of its children and of
// controlled threads (SA_NOCLDSTOP), until it ends. Each of those runs the Go runtime's handler; hits and pauses are
// cheaper without. It is not for a program that wants to hear of job-control stops of its own children. Their
// ends are told as before. Any goroutine may call it.
func QuietStops() error { return ptrace.QuietStops() }

// Session is a set of grabbed processes and what they share: handles, and the
// symbols of files, each read once however many processes map it. Programs
// usually have one. Its methods may be called from any goroutine.
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

// Close closes every Process of the Session, which lets the controlled ones go
// in their release modes, and gives back what idle handles and open files hold:
// stacks that have not been named by then have no names. It returns when that is
// done and when no grab is under way any more. To close again is no error. A
// Handler must not close (ErrOnControl).
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

// release drops a reference that has been closed. Until that is done the Session
// knows it: its Close waits.
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
