package pctl

import (
	"context"
	"os"
	"sync"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
	"ptools/pctl/control"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// SessionOptions of NewSession. Nil means the zero value.
type SessionOptions struct {
	CacheLimit int
}

// Session x.
type Session struct {
	files *elfsym.Cache
	mu    sync.Mutex
	procs map[*Process]struct{}
	grips map[int]*grip
}

type grip struct {
	pid   int
	refs  int
	space *handle.Space
	m     *mem.Memory
	c     *control.Controller
	mode  Mode
}

func (g *grip) PID() int                     { return g.pid }
func (g *grip) Space() *handle.Space         { return g.space }
func (g *grip) Memory() (*mem.Memory, error) { return g.m, nil }
func (g *grip) Mode() Mode                   { return g.mode }

// NewSession x.
func NewSession(o *SessionOptions) *Session {
	return &Session{files: elfsym.NewCache(64), procs: map[*Process]struct{}{}, grips: map[int]*grip{}}
}

// GrabOptions x.
type GrabOptions struct {
	ReadOnly bool
	Stop     Point
	Release  Mode
}

// Grab x.
func (s *Session) Grab(ctx context.Context, pid int, o *GrabOptions) (*Process, error) {
	if o == nil {
		o = &GrabOptions{}
	}
	if err := gather(pid).check(o.ReadOnly); err != nil {
		return nil, &Error{Op: "grab", PID: pid, Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.grips[pid]
	var err error
	if g == nil {
		g = &grip{pid: pid, mode: o.Release}
		if o.ReadOnly {
			g.space, err = handle.NewSpace(pid, s.files)
			if err == nil {
				g.m, err = mem.Open(pid)
			}
		} else {
			g.c, err = control.Attach(ctx, pid, &control.Options{Stop: o.Stop, Mode: o.Release, Files: s.files, Bus: notify.NewBus(), Linker: true})
		}
		if err != nil {
			return nil, &Error{Op: "grab", PID: pid, Err: gather(pid).diagnose(err, o.ReadOnly)}
		}
		s.grips[pid] = g
	}
	g.refs++
	return s.newProcess(g, o.ReadOnly, ""), nil
}

func (s *Session) newProcess(g *grip, ro bool, created string) *Process {
	p := &Process{s: s, h: g, c: g.c, readOnly: ro, created: created, streams: map[*Events]struct{}{}, breaks: map[*Breakpoint]struct{}{}}
	s.procs[p] = struct{}{}
	return p
}

// Command x.
type Command = control.Command

// CreateOptions x.
type CreateOptions struct {
	Stop    Point
	Release Mode
}

// Create x.
func (s *Session) Create(ctx context.Context, cmd *Command, o *CreateOptions) (*Process, error) {
	if o == nil {
		o = &CreateOptions{}
	}
	c, err := control.Start(ctx, cmd, &control.Options{Stop: o.Stop, Mode: o.Release, Files: s.files, Bus: notify.NewBus(), Linker: true})
	if err != nil {
		return nil, &Error{Op: "create " + cmd.Path, Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &grip{pid: c.PID(), c: c, mode: o.Release, refs: 1}
	s.grips[c.PID()] = g
	return s.newProcess(g, false, cmd.Path), nil
}

func (s *Session) release(p *Process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.procs, p)
	p.h.refs--
	if p.h.refs > 0 {
		return nil
	}
	delete(s.grips, p.h.pid)
	if p.h.c != nil {
		return p.h.c.Release(context.Background(), p.h.mode)
	}
	p.h.space.Close()
	return p.h.m.Close()
}

// Close x.
func (s *Session) Close() error {
	s.mu.Lock()
	var ps []*Process
	for p := range s.procs {
		ps = append(ps, p)
	}
	s.mu.Unlock()
	for _, p := range ps {
		p.Close()
	}
	return nil
}

func (p *Process) awaitExit(ctx context.Context) error { return os.ErrInvalid }
