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
// decides about is no such signal. A SIGHUP that was ignored, as under nohup,
// stays ignored, and with a command, which would find it otherwise, so does any
// signal: handlers do not survive into it, ignored signals do. A reader that
// goes away is an error of writing and no signal.
func untilSignal(ctx context.Context, command *job.Command) (context.Context, func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	asked := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) || command == nil && sig != syscall.SIGHUP {
			signal.Notify(asked, sig)
		}
	}
	if command != nil && !signal.Ignored(syscall.SIGQUIT) {
		signal.Notify(asked, syscall.SIGQUIT)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // ended by the function that is returned
		defer close(done)
		for sig := range asked {
			if command == nil || !command.Has(sig) {
				cancel()
				signal.Stop(asked)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(asked)
		signal.Stop(pipe)
		close(asked)
		<-done
		cancel()
	}
}
