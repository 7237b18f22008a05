package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"ptools/internal/job"
	"ptools/pctl"
)

// running counts the calls of a process that runs.
func (s *session) running(ctx context.Context) (err error) {
	defer job.Stay(func() {})()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.find(s.pid); err != nil || s.list {
		return err
	}
	alive, err := s.process.Alive()
	if err != nil {
		return fmt.Errorf("process %d: %w", s.pid, pctl.ErrNoProcess)
	}
	defer alive.Close()
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the process, or with ctx
		defer close(ended)
		alive.Wait(ctx)
	}()
	s.watch.Begin()
	return s.count(ctx, ended)
}

// count waits until the counting is to end, and prints its result.
func (s *session) count(ctx context.Context, ended <-chan struct{}) error {
	begun := s.watch.Begun()
	var over <-chan time.Time
	if s.length > 0 {
		over = time.After(s.length)
	}
	t := newTable(s)
	if s.top {
		if err := s.each(ctx, ended, over, t); err != nil {
			return err
		}
	} else if err := s.await(ctx, ended, over); err != nil {
		return err
	}
	length := time.Since(begun)
	s.watch.End()
	s.tellExec(ended)
	lost := s.tellOften(duration(length))
	all := t.read()
	if s.top {
		return nil
	}
	if err := s.write(t.groups, begun); err != nil {
		return err
	}
	if err := s.printCalls(); err != nil { // after the table was read: each call that it has is printed
		return err
	}
	if s.tree.on() {
		return errors.Join(s.printTree(t.nodes, all, length), lost)
	}
	return errors.Join(s.print(all, length), lost)
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
	case s.slower > 0 || s.detail.any() || s.watch.Polled():
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
	for begun := s.watch.Begun(); ; {
		select {
		case <-guard.C:
			if s.tellOften(duration(time.Since(begun))) != nil {
				return nil // count returns it
			}
			continue
		case <-look:
			if err := s.printCalls(); err != nil {
				return err
			}
			if s.watch.Lost() == nil {
				continue
			}
		case <-ended:
		case <-ctx.Done():
		case <-over:
		}
		return nil
	}
}

// tellExec says that the process executes another program.
func (s *session) tellExec(ended <-chan struct{}) {
	select {
	case <-ended: // its last program cannot be told from the first
	default:
		if !s.process.Current() {
			s.say("process %d has executed another program, whose calls are not counted", s.process.PID)
		}
	}
	if err := s.watch.Lost(); err != nil {
		s.say("process %d: %v", s.process.PID, err)
	}
	if n := s.watch.Elsewhere(); n > 0 {
		s.say("%s not counted: before Linux 6.6, not in objects that are mapped again", counted(n, "beginning or end of a call was", "beginnings and ends of calls were"))
	}
}

// each prints a table of each second.
func (s *session) each(ctx context.Context, ended <-chan struct{}, over <-chan time.Time, t *table) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	begun := time.Now()
	last := begun
	for {
		select {
		case <-ended:
			s.say("process %d has ended", s.pid)
			return nil
		case <-ctx.Done():
			return nil
		case <-over:
			return nil
		case now := <-tick.C:
			if err := s.tellOften(duration(now.Sub(begun))); err != nil {
				return err
			}
			if err := t.show(t.second(), now.Sub(last)); err != nil {
				return err
			}
			if last = now; s.watch.Lost() != nil {
				return nil
			}
		}
	}
}
