package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"ptools/internal/job"
)

// signals is what has been received of those that ask us to end. The first ends
// the sampling, and the profile is written; the second ends the waiting for the
// command; a third, and thereby one that comes while a write hangs, is as if
// psample did not catch it. What the command has sent to its process group is none.
type signals struct {
	job   *job.Command   // nil without a command
	again chan os.Signal // gets the second signal
	// command gets them too, see pass; nil: there is none. It is a descriptor of the process, whose number may be another's when
	// it has ended.
	command atomic.Pointer[os.Process]
	// waiting: the profile is written, and only the command's end is waited for.
	waiting atomic.Bool

	received chan os.Signal
	pipe     chan os.Signal
	done     chan struct{}
}

// catchSignals returns a context that the first signal ends.
func catchSignals(ctx context.Context, command *job.Command) (context.Context, *signals) {
	ctx, cancel := context.WithCancel(ctx)
	s := &signals{
		job:      command,
		again:    make(chan os.Signal, 1),
		received: make(chan os.Signal, 4),
		pipe:     make(chan os.Signal, 1),
		done:     make(chan struct{}),
	}
	for _, sig := range command.Signals() {
		if !signal.Ignored(sig) { // as nohup wants it
			signal.Notify(s.received, sig)
		}
	}
	// A closed pipe is an error of the write, not our death.
	signal.Notify(s.pipe, syscall.SIGPIPE)
	go func() { // ended by close, which waits for it
		defer close(s.done)
		defer cancel()
		if sig, ok := s.next(); ok {
			s.pass(sig)
			cancel()
		}
		if sig, ok := s.next(); ok {
			s.again <- sig
			signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			if sig, ok := s.next(); ok {
				os.Exit(128 + int(sig.(syscall.Signal))) // the default action would be the runtime's dump
			}
		}
	}()
	return ctx, s
}

// next returns the next signal that is for us. ^C is, also where the command has it too.
func (s *signals) next() (os.Signal, bool) {
	for sig := range s.received {
		if s.job == nil || sig == os.Interrupt || !s.job.Has(sig) {
			return sig, true
		}
	}
	return nil, false
}

// pass hands a signal on to the command, which the sender may not know. That of
// ^C reaches it from the terminal. An interrupt that is not the terminal's ends the sampling, and the command
// when that is over.
func (s *signals) pass(sig os.Signal) {
	p := s.command.Load()
	if p == nil || sig == os.Interrupt && (!s.waiting.Load() || job.Foreground()) {
		return
	}
	p.Signal(sig) // an error means that it has ended
}

// close ends the catching.
func (s *signals) close() {
	s.job.Uncatch(s.received)
	signal.Stop(s.pipe)
	close(s.received)
	<-s.done
	if p := s.command.Load(); p != nil {
		p.Release()
	}
}

// passTo has signals passed on to a process.
func (s *signals) passTo(pid int) {
	if p, err := os.FindProcess(pid); err == nil { // else it has ended
		s.command.Store(p)
	}
}
