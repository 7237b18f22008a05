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
// nobody had caught it.
type signals struct {
	again  chan os.Signal // gets the second signal
	pid    atomic.Int64   // of the command
	passOn bool           // see pass
	// waiting: the profile is written, and only the command's end is waited for.
	waiting atomic.Bool

	received chan os.Signal
	pipe     chan os.Signal
	done     chan struct{}
}

// catchSignals returns a context that the first signal ends.
func catchSignals(ctx context.Context) (context.Context, *signals) {
	ctx, cancel := context.WithCancel(ctx)
	s := &signals{
		again:    make(chan os.Signal, 1),
		received: make(chan os.Signal, 4),
		pipe:     make(chan os.Signal, 1),
		done:     make(chan struct{}),
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) { // as nohup wants it
			signal.Notify(s.received, sig)
		}
	}
	// A closed pipe is an error of the write, not our death.
	signal.Notify(s.pipe, syscall.SIGPIPE)
	go func() { // ended by close, which waits for it
		defer close(s.done)
		defer cancel()
		if sig, ok := <-s.received; ok {
			s.pass(sig)
			cancel()
		}
		if sig, ok := <-s.received; ok {
			s.again <- sig
			signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			for range s.received {
			}
		}
	}()
	return ctx, s
}

// pass hands a signal on to the command, which the sender may not know. That of
// ^C reaches it from the terminal. An interrupt that is not the terminal's ends the sampling, and the command
// when that is over.
func (s *signals) pass(sig os.Signal) {
	if !s.passOn || sig == os.Interrupt && (!s.waiting.Load() || job.Foreground()) {
		return
	}
	if p, err := os.FindProcess(int(s.pid.Load())); err == nil {
		p.Signal(sig) // an error means that it has ended
		p.Release()
	}
}

// close ends the catching.
func (s *signals) close() {
	signal.Stop(s.received)
	signal.Stop(s.pipe)
	close(s.received)
	<-s.done
}
