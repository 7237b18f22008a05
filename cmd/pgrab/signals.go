package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"ptools/internal/job"
)

// untilSignal returns a context that ends with the first signal that asks us to let
// go. A second one ends us at once. A signal that the command has got as well, and
// decides about, does not count; left is called with one that was not typed at the
// terminal. A signal that was ignored when we started, such as SIGHUP under nohup,
// stays ignored. Without a command that holds for SIGHUP and SIGQUIT only. With a
// command it holds for all, because a command inherits ignored signals, but no
// handlers. If the reader of our output goes away, that is an error of writing and
// no signal.
func untilSignal(ctx context.Context, command *job.Command, left func(os.Signal)) (context.Context, func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	asked := make(chan os.Signal, 4)
	for _, sig := range command.Signals() {
		if !signal.Ignored(sig) || command == nil && (sig == os.Interrupt || sig == syscall.SIGTERM) {
			signal.Notify(asked, sig)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // ended by the function that is returned
		defer close(done)
		for sig := range asked {
			switch {
			case command != nil && command.Has(sig):
				if !job.Foreground() {
					left(sig)
				}
			case ctx.Err() != nil:
				os.Exit(128 + int(sig.(syscall.Signal))) // its default action would be the runtime's dump
			default:
				cancel()
				signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			}
		}
	}()
	return ctx, func() {
		command.Uncatch(asked)
		signal.Stop(pipe)
		close(asked)
		<-done
		cancel()
	}
}
