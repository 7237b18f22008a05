package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"ptools/internal/calls"
	"ptools/internal/job"
)

// running counts the calls of a process that runs.
func (s *session) running(ctx context.Context) (err error) {
	defer job.Stay(func() {})()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.findAll(ctx); err != nil || s.list {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	var all sync.WaitGroup
	defer func() {
		cancel()
		<-ended
	}()
	for _, p := range s.parts {
		all.Go(func() { // ends with the process, or with ctx; the end of ended waits for it
			if s.follow {
				<-p.over(ctx)
				return
			}
			if alive, err := p.process.Alive(); err == nil { // else it has ended
				alive.Wait(ctx)
				alive.Close()
			}
		})
	}
	go func() { // the same
		all.Wait()
		close(ended)
	}()
	for _, p := range s.parts {
		p.watch.Begin()
	}
	if err := s.count(ctx, ended); err != nil {
		return err
	}
	if s.uncounted > 0 {
		return fmt.Errorf("%d of %d processes were not counted", s.uncounted, len(s.pids))
	}
	return nil
}

// over returns a channel that is closed when none of the processes that --follow means is left, or with ctx.
func (p *part) over(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		for tick := time.NewTicker(slowEvery); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				if p.watch.Over() {
					tick.Stop()
					return
				}
			}
		}
	}()
	return done
}

// count waits until the counting is to end, and prints its result.
func (s *session) count(ctx context.Context, ended <-chan struct{}) error {
	begun := s.parts[0].watch.Begun()
	var over <-chan time.Time
	if s.length > 0 {
		over = time.After(s.length)
	}
	t := newTable(s)
	if s.top {
		if err := s.seconds(ctx, ended, over, t); err != nil {
			return err
		}
	} else if err := s.await(ctx, ended, over); err != nil {
		return err
	}
	length := time.Since(begun)
	for _, p := range s.parts {
		p.watch.End()
	}
	s.ofEach(s.tellExec)
	lost := s.tellAllOften(duration(length))
	all := t.read()
	if s.top {
		return unprobed(s.parts)
	}
	if err := s.write(t.groups, begun); err != nil {
		return err
	}
	if err := s.printCalls(); err != nil { // after the table was read: each call that it has is printed
		return err
	}
	if s.tree.on() {
		return errors.Join(s.printTree(t.nodes, all, length), lost, unprobed(s.parts))
	}
	return errors.Join(s.print(all, length), lost, unprobed(s.parts))
}

// The time between two looks at the calls that are reported. Stacks fill the kernel's ring fastest: it has room for 3,700.
const (
	slowEvery  = 50 * time.Millisecond
	stackEvery = 5 * time.Millisecond
)

// lookEvery returns the time between two looks, 0 for none.
func (s *session) lookEvery() time.Duration {
	switch {
	case s.by.Stack():
		return stackEvery
	case s.slower > 0 || s.detail.any() || s.parts[0].watch.Polled():
		return slowEvery
	}
	return 0
}

// await waits for the end of the counting, and prints calls meanwhile.
func (s *session) await(ctx context.Context, ended <-chan struct{}, over <-chan time.Time) error {
	var look <-chan time.Time
	if every := s.lookEvery(); every > 0 {
		tick := time.NewTicker(every)
		defer tick.Stop()
		look = tick.C
	}
	guard := time.NewTicker(oftenEvery)
	defer guard.Stop()
	for begun := s.parts[0].watch.Begun(); ; {
		select {
		case <-guard.C:
			if s.tellAllOften(duration(time.Since(begun))) != nil {
				return nil // count returns it
			}
			continue
		case <-look:
			if err := s.printCalls(); err != nil {
				return err
			}
			if !allLost(s.parts) {
				continue
			}
		case <-ended:
		case <-ctx.Done():
		case <-over:
		}
		return nil
	}
}

// allLost reports whether no calls of any process are counted any more.
func allLost(parts []*part) bool {
	return !slices.ContainsFunc(parts, func(p *part) bool { return p.watch.Lost() == nil })
}

// tellAllOften is tellOften for all processes, and notices what they have loaded. Its error is that of all of them.
func (s *session) tellAllOften(after string) error {
	var errs []error
	s.ofEach(func(p *part) {
		p.look()
		if err := s.tellOften(p.watch, after); err != nil {
			errs = append(errs, err)
		}
	})
	if len(errs) < len(s.parts) {
		return nil
	}
	return errors.Join(errs...)
}

// look notices objects that are loaded.
func (p *part) look() {
	later, missed := p.watch.Look()
	p.later, p.missed = append(p.later, later...), p.missed || missed
}

// tellExec says that objects were loaded while calls were counted, and that a process executes another program.
func (s *session) tellExec(p *part) {
	remedy := "name it by its path"
	if p.trapped {
		remedy = "that takes uprobes"
	}
	if p.look(); len(p.later) > 0 {
		s.say("not counted are functions of what was loaded meanwhile (%s): %s", remedy, calls.FirstOf(p.later))
	}
	if p.missed {
		s.say("not counted are functions of what was loaded too briefly to be seen (%s)", remedy)
	}
	if executed, unfollowed := p.watch.Left(); executed > 0 || unfollowed > 0 {
		switch {
		case executed > 0 && p.watch.Programs():
			s.say("%s executed other programs, of which calls of the same files are counted", counted(executed, "process has", "processes have"))
		case executed > 0:
			s.say("%s executed other programs, whose calls are not counted: what is at the addresses is known of the first one alone",
				counted(executed, "process has", "processes have"))
		}
		if unfollowed > 0 {
			s.say("%s not followed: there are too many processes", counted(unfollowed, "child was", "children were"))
		}
	}
	elsewhere, unread := p.watch.Uncounted()
	if unread > 0 {
		s.say("%s not counted: memory that the condition is about could not be read, as at a null pointer or in a page of a file that the process has not read yet",
			counted(unread, "call is", "calls are"))
	}
	if s.follow {
		return
	}
	if p.watch.Executed() {
		s.say("process %d has executed another program, whose calls are not counted", p.process.PID)
	}
	if err := p.watch.Lost(); err != nil {
		s.say("process %d: %v", p.process.PID, err)
	}
	if elsewhere > 0 {
		s.say("%s not counted: before Linux 6.6, not in objects that are mapped again", counted(elsewhere, "beginning or end of a call was", "beginnings and ends of calls were"))
	}
}

// unprobed returns an error for the processes of which calls were missed.
func unprobed(parts []*part) error {
	var errs []error
	for _, p := range parts {
		if err := p.watch.Unprobed(); err != nil {
			errs = append(errs, fmt.Errorf("process %s: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}

// seconds prints a table of each second.
func (s *session) seconds(ctx context.Context, ended <-chan struct{}, over <-chan time.Time, t *table) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var look <-chan time.Time
	if every := s.lookEvery(); every > 0 { // stacks fill the kernel's ring within a second
		looks := time.NewTicker(every)
		defer looks.Stop()
		look = looks.C
	}
	begun := time.Now()
	last := begun
	for {
		select {
		case <-look:
			if err := s.printCalls(); err != nil {
				return err
			}
		case <-ended:
			if len(s.parts) == 1 && !s.follow {
				s.say("process %d has ended", s.pids[0])
			} else {
				s.say("all processes have ended")
			}
			return nil
		case <-ctx.Done():
			return nil
		case <-over:
			return nil
		case now := <-tick.C:
			if err := s.tellAllOften(duration(now.Sub(begun))); err != nil {
				return err
			}
			if err := t.show(t.second(), now.Sub(last)); err != nil {
				return err
			}
			if last = now; allLost(s.parts) {
				return nil
			}
		}
	}
}
