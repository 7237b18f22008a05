package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"ptools/internal/job"
)

// signals counts the received signals that ask us to end. The first ends the
// sampling, and the profile is written. The second ends the wait for the command. A
// third, for instance while a write hangs, has its effect as if psample did not
// catch it. Signals that the command has sent to its process group do not count.
type signals struct {
	job   *job.Command   // nil without a command
	again chan os.Signal // gets the second signal
	// command gets the signals too (pass); nil: there is none. It has a descriptor of the process, whose number may be
	// that of another process after its end.
	command atomic.Pointer[os.Process]
	// waiting is set when the profile has been written, and only the end of the command is waited for.
	waiting atomic.Bool
	// ends is set by a first signal other than ^C. The profile is written, but no pages stay.
	ends atomic.Bool

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
		if !signal.Ignored(sig) { // as under nohup
			signal.Notify(s.received, sig)
		}
	}
	// A write to a closed pipe is an error, and must not end us.
	signal.Notify(s.pipe, syscall.SIGPIPE)
	go func() { // ended by close, which waits for it
		defer close(s.done)
		defer cancel()
		if sig, ok := s.next(); ok {
			s.ends.Store(sig != os.Interrupt)
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

// next returns the next signal that is for us. ^C is for us, even if the command gets it too.
func (s *signals) next() (os.Signal, bool) {
	for sig := range s.received {
		if s.job == nil || sig == os.Interrupt || !s.job.Has(sig) {
			return sig, true
		}
	}
	return nil, false
}

// pass passes a signal on to the command, which the sender may not know. The signal of ^C reaches the command
// from the terminal. An interrupt that is not from the terminal ends the sampling, and after that the
// command.
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

// passTo sets the process that signals are passed on to.
func (s *signals) passTo(pid int) {
	if p, err := os.FindProcess(pid); err == nil { // otherwise it has ended
		s.command.Store(p)
	}
}
