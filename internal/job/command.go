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

// Command makes a command that runs under control and this program one job.
type Command struct {
	p       atomic.Pointer[pctl.Process]
	child   atomic.Bool // it runs, and is not traced
	pressed chan os.Signal
	ctx     context.Context // of the goroutines
	cancel  context.CancelFunc
	stopped chan struct{} // closed when the one that reads pressed has ended
	ended   chan struct{} // closed when the one that reads events has ended; nil before Follow
	mu      sync.Mutex    // one decides at a time whether this program is stopped
}

// aborts are the signals at which the Go runtime prints what all goroutines do, and ends the program.
// Faults of our own are not among what [signal.Notify] gets: the kernel says which process has sent a signal.
var aborts = []os.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGILL, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS}

// Signals returns what a program with this command, or with none (nil), has to catch: what asks it to
// end, and what a command may send to its process group.
func (c *Command) Signals() []os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if c == nil {
		return append(ends, syscall.SIGQUIT)
	}
	return append(ends, aborts...)
}

// NewCommand catches what stops this program, before the command exists. Close undoes it. A signal
// that is ignored stays so, for the command too.
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
				// A read in the background is made again, and is signalled again, until we
				// stop: what is left of that in the foreground is out of date.
				late := sig != syscall.SIGTSTP && Foreground()
				return !late && !c.running() // no other process can answer it
			})
		}
	}()
	return c
}

// Follow stops this program whenever p is stopped by its terminal, for as long as p is controlled. To be called once.
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

// stop stops this program if that is called for when no other process is about to.
func (c *Command) stop(calledFor func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if calledFor() {
		suspend()
	}
}

// running reports that there is a command and that it is not held: a signal reaches it.
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

// Has reports that the command decides about a signal that we have got. An interrupt or ^\ was typed
// at the terminal, so the command has it too. A signal that aborts is not sent to a tracer alone: the
// command has sent it to its process group, which is ours.
func (c *Command) Has(sig os.Signal) bool {
	switch {
	case !c.running():
		return false
	case sig == os.Interrupt:
		return Foreground()
	}
	return slices.Contains(aborts, sig)
}

// Uncatch ends the catching of Signals on a channel, when this program is about to exit. What the command has sent to
// its process group as it ended may still be on its way: not caught any more, it would end this program, whose exit
// status is the command's.
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
