package sample

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"ptools/internal/sample"
	"ptools/internal/source"
	"ptools/pctl"
)

// rounds is the sampling of one process in rounds.
type rounds struct {
	pid     int
	users   int           // windows; under Sampler.mu
	ready   chan struct{} // closed when sampler or err is set
	sampler *sample.Rounds
	err     error
	close   []func() // functions that close what the sampling needs; the last is called first
}

// acquire returns the rounds in which windows of a process are opened, and begins them if there are none.
func (s *Sampler) acquire(pid int) (*rounds, error) {
	for {
		r, mine, err := s.join(pid)
		if err != nil {
			return nil, err
		}
		if mine {
			r.err = s.start(r)
			close(r.ready)
		}
		<-r.ready
		if r.err != nil {
			s.release(r)
			return nil, r.err
		}
		if mine || !r.sampler.Aged() {
			return r, nil
		}
		s.retire(r)
		s.release(r)
	}
}

// join adds a user to the rounds of a process. mine says that the caller has to start them.
func (s *Sampler) join(pid int) (r *rounds, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, os.ErrClosed
	}
	if r = s.current[pid]; r == nil {
		r, mine = &rounds{pid: pid, ready: make(chan struct{})}, true
		s.current[pid], s.rounds[r] = r, true
		s.ending.Add(1)
	}
	r.users++
	return r, mine, nil
}

// retire ends the opening of windows in r.
func (s *Sampler) retire(r *rounds) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current[r.pid] == r {
		delete(s.current, r.pid)
	}
}

// release ends the rounds with their last window.
func (s *Sampler) release(r *rounds) {
	s.mu.Lock()
	r.users--
	last := r.users == 0
	if last && s.current[r.pid] == r {
		delete(s.current, r.pid)
	}
	s.mu.Unlock()
	switch {
	case !last:
	case s.windows == nil:
		s.finish(r) // no other tracer can attach to the process before
	default:
		// The last client need not wait for the end of symbol reading.
		go s.finish(r) // Close waits
	}
}

// finish ends rounds that have no window.
func (s *Sampler) finish(r *rounds) {
	if r.sampler != nil {
		r.sampler.Stop()
	}
	r.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.sampler != nil {
		cost := r.sampler.Cost()
		s.past.Add(&cost)
	}
	delete(s.rounds, r)
	s.ending.Done()
}

// start grabs the process and begins to sample it.
func (s *Sampler) start(r *rounds) error {
	o := sample.Options{Period: s.o.Period, Shared: true, Beside: sample.Goroutines}
	src, err := s.source(r, &o, false)
	if err == nil {
		r.sampler = sample.StartRounds(src, o)
	}
	return err
}

// source opens what sampling in rounds needs. The functions in r.close close it all.
func (s *Sampler) source(r *rounds, o *sample.Options, blame bool) (*source.Process, error) {
	p, err := s.session.Grab(s.ctx, r.pid, &pctl.GrabOptions{ReadOnly: s.windows != nil})
	if err != nil {
		return nil, err
	}
	r.close = append(r.close, func() { p.Close() })
	if s.windows == nil {
		if blame {
			o.Blame = new(sample.Blame)
		}
		return source.Controlled(p, s.files, s.o.Lines)
	}
	tap, err := s.windows.Tap(r.pid, blame)
	if err != nil {
		return nil, err
	}
	r.close = append(r.close, func() { tap.Close() })
	if o.Ticks = tap; blame {
		o.Blame = tap.Blame()
	}
	ctx, cancel := context.WithCancel(s.ctx)
	over := make(chan struct{})
	go func() { // ends with the process, or with the rounds
		defer close(over)
		p.Wait(ctx)
	}()
	r.close = append(r.close, func() { cancel(); <-over })
	return source.Watch(r.pid, over, s.files, s.o.Lines), nil
}

// end closes what the rounds have opened.
func (r *rounds) end() {
	for _, f := range slices.Backward(r.close) {
		f()
	}
}

// Contention samples a process for d. It returns the time that the process's threads waited for locks, by the stacks
// of the threads that held the locks (see [Profile.Contention]). It is an error if ctx is done earlier.
func (s *Sampler) Contention(ctx context.Context, pid int, d time.Duration) (*Profile, error) {
	if err := s.working(); err != nil {
		return nil, err
	}
	defer s.ending.Done()
	o := sample.Options{Period: s.o.Period, For: d, Shared: true}
	r := &rounds{pid: pid}
	defer r.end()
	src, err := s.source(r, &o, true)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	sampler := sample.New([]*source.Process{src}, &o)
	err = sampler.Run(ctx)
	s.spent(sampler.Cost())
	taken := sampler.Profile()
	taken.Resolve() // while its files are open
	p := &Profile{p: taken}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return p.Contention(), nil
}

// working counts a client, or returns an error if the Sampler is closed.
func (s *Sampler) working() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return os.ErrClosed
	}
	s.ending.Add(1)
	return nil
}

// spent adds the cost of a sampling.
func (s *Sampler) spent(c *sample.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past.Add(c)
}
