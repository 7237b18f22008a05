package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"ptools/internal/job"
)

// untilSignal returns a context that ends with the first signal that asks us
// to let go; a second one ends us at once. What the command has got as well and
// decides about is no such signal; left is told of one that was not typed at the
// terminal. A signal that was ignored, as SIGHUP under nohup, stays ignored; without
// a command, which would find it otherwise, that is SIGHUP and SIGQUIT only:
// handlers do not survive into it, ignored signals do. A reader that goes away is an
// error of writing and no signal.
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
