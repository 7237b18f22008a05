package job

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ptools/pctl"
)

// Command makes this program and a command that runs under control one job of the shell.
type Command struct {
	p       atomic.Pointer[pctl.Process]
	child   atomic.Bool // the command runs, and is not traced
	pressed chan os.Signal
	ctx     context.Context // of the goroutines
	cancel  context.CancelFunc
	stopped chan struct{} // closed when the goroutine that reads pressed has ended
	ended   chan struct{} // closed when the goroutine that reads events has ended; nil before Follow
	mu      sync.Mutex    // held by the goroutine that decides whether to stop this program
}

// aborts are the signals at which the Go runtime prints the stacks of all goroutines and ends the program.
// [signal.Notify] does not get faults of this program itself: the kernel says which process has sent a
// signal.
var aborts = []os.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGILL, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS}

// Signals returns the signals that a program with this command, or with none (nil), has to catch:
// those that ask it to end, and those that a command may send to its process group.
func (c *Command) Signals() []os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if c == nil {
		return append(ends, syscall.SIGQUIT)
	}
	return append(ends, aborts...)
}

// NewCommand catches the signals that stop this program, before the command exists. Close undoes
// that. An ignored signal stays ignored, for the command too.
func NewCommand() *Command {
	c := &Command{pressed: make(chan os.Signal, 4), stopped: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for _, sig := range stops {
		if !signal.Ignored(sig) {
			signal.Notify(c.pressed, sig)
		}
	}
	go func() {
		defer close(c.stopped)
		for sig := range c.pressed {
			c.stop(func() bool {
				// A read in the background is restarted, and is signalled again, until we
				// stop. A signal of it that is handled in the foreground is out of date.
				late := sig != syscall.SIGTSTP && Foreground()
				return !late && !c.running() // otherwise the command handles the signal
			})
		}
	}()
	return c
}

// Follow stops this program whenever p is stopped by its terminal, for as long as p is controlled. It must be called
// once only.
func (c *Command) Follow(p *pctl.Process) {
	c.p.Store(p)
	events := p.Events(&pctl.EventOptions{Kinds: []pctl.Kind{pctl.KindGroupStop}})
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		defer events.Close()
		for {
			e, err := events.Next(c.ctx)
			if err != nil {
				return
			}
			if e.Kind == pctl.KindGroupStop {
				c.commandStopped(p.PID(), syscall.Signal(e.Signal))
			}
		}
	}()
}

// stop stops this program if calledFor reports true. One goroutine at a time decides that.
func (c *Command) stop(calledFor func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if calledFor() {
		suspend()
	}
}

// running reports whether there is a command that is not held, so that a signal reaches it.
func (c *Command) running() bool {
	if c.child.Load() {
		return true
	}
	p := c.p.Load()
	if p == nil {
		return false
	}
	_, held := p.Held()
	return !held
}

// Has reports whether the command decides about a signal that we have got. An interrupt or ^\ was
// typed at the terminal, so the command gets it too. A signal of aborts is not sent to a tracer
// alone: the command has sent it to its process group, which is ours.
func (c *Command) Has(sig os.Signal) bool {
	switch {
	case !c.running():
		return false
	case sig == os.Interrupt:
		return Foreground()
	}
	return slices.Contains(aborts, sig)
}

// Uncatch ends the catching of Signals on a channel, when this program is about to exit. A signal that the command
// has sent to its process group at its end may still be on its way. If it were neither caught nor ignored, it would
// end this program, whose exit status is to be the command's.
func (c *Command) Uncatch(caught chan<- os.Signal) {
	if c != nil {
		signal.Ignore(aborts...)
	}
	signal.Stop(caught)
}

// Close ends the following.
func (c *Command) Close() {
	signal.Stop(c.pressed)
	close(c.pressed)
	<-c.stopped
	c.cancel()
	if c.ended != nil {
		<-c.ended
	}
}
