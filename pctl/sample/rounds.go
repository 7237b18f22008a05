package sample

import (
	"context"
	"os"

	"ptools/internal/sample"
	"ptools/pctl"
)

// rounds is the sampling of one process in rounds.
type rounds struct {
	pid     int
	users   int           // windows; under Sampler.mu
	ready   chan struct{} // closed when sampler or err is set
	sampler *sample.Rounds
	err     error
	close   []func() // what ends what the sampling needs, the last first
}

// acquire returns the rounds of a process that windows are opened in, and begins them if there are none.
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

// retire has no more windows opened in some rounds.
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
	if !last {
		return
	}
	if r.sampler != nil {
		r.sampler.Stop()
	}
	for i := len(r.close) - 1; i >= 0; i-- {
		r.close[i]()
	}
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
	o := sample.Options{Period: s.o.Period, Shared: true}
	if s.windows != nil {
		timers, err := sample.OpenTimers(sample.TimersOnly, sample.TimersOptions{Period: s.o.Period})
		if err != nil {
			return err
		}
		r.close = append(r.close, func() { timers.Close() })
		o.Ticks = timers
		if err := timers.Want(r.pid); err != nil {
			return err
		}
	}
	p, err := s.session.Grab(s.ctx, r.pid, &pctl.GrabOptions{ReadOnly: s.windows != nil})
	if err != nil {
		return err
	}
	r.close = append(r.close, func() { p.Close() })
	if s.windows == nil {
		source, err := sample.Controlled(p, s.files, s.o.Lines)
		if err != nil {
			return err
		}
		r.sampler = sample.StartRounds(source, o)
		return nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	over := make(chan struct{})
	go func() { // ends with the process, or with the rounds
		defer close(over)
		p.Wait(ctx)
	}()
	r.close = append(r.close, func() { cancel(); <-over })
	r.sampler = sample.StartRounds(sample.Watch(r.pid, over, s.files, s.o.Lines), o)
	return nil
}
