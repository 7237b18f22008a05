package job

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"ptools/pctl"
)

// Command makes a command that runs under control and this program one job.
type Command struct {
	p       atomic.Pointer[pctl.Process]
	pressed chan os.Signal
	ctx     context.Context // of the goroutines
	cancel  context.CancelFunc
	stopped chan struct{} // closed when the one that reads pressed has ended
	ended   chan struct{} // closed when the one that reads events has ended; nil before Follow
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
			// A read in the background is made again, and is signalled again, until we
			// stop: what is left of that in the foreground is out of date.
			late := sig != syscall.SIGTSTP && Foreground()
			if !late && !c.running() {
				suspend() // nobody else can answer it
			}
		}
	}()
	return c
}

// Follow stops this program whenever p is stopped by its terminal. A stop from elsewhere, by
// SIGSTOP, is not ours: whoever sent that will continue the command, and may not know us. To be
// called once.
func (c *Command) Follow(p *pctl.Process) {
	c.p.Store(p)
	events := p.Events(&pctl.EventOptions{Kinds: pctl.KindGroupStop})
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		defer events.Close()
		for {
			e, err := events.Next(c.ctx)
			if err != nil {
				return
			}
			switch syscall.Signal(e.Signal) {
			case syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
				if e.Kind == pctl.KindGroupStop {
					suspend()
				}
			}
		}
	}()
}

// running reports that there is a command and that it is not held: a signal reaches it.
func (c *Command) running() bool {
	p := c.p.Load()
	if p == nil {
		return false
	}
	_, held := p.Held()
	return !held
}

// Has reports that the command decides about an interrupt that we have got: it was typed at the
// terminal, so the command has it too.
func (c *Command) Has(sig os.Signal) bool {
	return (sig == os.Interrupt || sig == syscall.SIGQUIT) && c.running() && Foreground()
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
