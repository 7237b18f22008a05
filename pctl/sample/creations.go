package sample

import (
	"context"
	"io"
	"time"

	"ptools/internal/creations"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/pctl"
)

// Creations counts for d where a process creates threads. Threads that exist already are counted under [created before].
// The process is under control meanwhile, and must not be sampled by stops.
func (s *Sampler) Creations(ctx context.Context, pid int, d time.Duration) (*Created, error) {
	counted := creations.New()
	hook, bind := counted.Hook()
	p, stop, err := s.creators.count(ctx, s.session, pid, counted, hook)
	if err != nil {
		return nil, err
	}
	defer stop()
	src, err := source.Controlled(p, s.files, s.o.Lines)
	if err != nil {
		return nil, err
	}
	bind(src)
	if err := counted.Run(ctx, d, func(context.Context) error { return nil }); err != nil {
		return nil, err
	}
	taken := counted.Profile()
	taken.Resolve()
	return &Created{taken}, ctx.Err()
}

// Created is a profile of where threads are created.
type Created struct{ p *profile.Profile }

// WritePprof writes a gzipped profile.proto with the sample type threadcreate/count.
func (c *Created) WritePprof(w io.Writer) error { return c.p.Write(w, profile.Pprof, nil) }

// WriteCounts writes the text form of Go's thread creation profiles.
func (c *Created) WriteCounts(w io.Writer) error { return c.p.Write(w, profile.Creations, nil) }

// Symbols returns the names of the functions at addresses of a process. The name is empty where none is known.
func (s *Sampler) Symbols(ctx context.Context, pid int, addrs []uint64) ([]string, error) {
	p, err := s.session.Grab(ctx, pid, &pctl.GrabOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	names := make([]string, len(addrs))
	for i, addr := range addrs {
		for _, f := range p.Lookup(addr) { // the last one is the function that others were inlined into
			if f.Func != "" {
				names[i] = functionOf(&f)
			}
		}
	}
	return names, nil
}

// paused counts a stop of a whole process.
func (s *Sampler) paused(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past.TotalPause += d
	s.past.LongestPause = max(s.past.LongestPause, d)
	s.past.Stops++
}

// String returns cpu or wall.
func (w What) String() string {
	if w == Wall {
		return "wall"
	}
	return "cpu"
}
