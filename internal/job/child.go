package job

import (
	"context"
	"syscall"
)

// Child is a command whose parent does not trace it.
type Child struct {
	PID int

	job    *Command
	done   chan struct{}
	status int   // valid when done is closed
	err    error // why the exit status is not known
}

// Child returns a Child for the command. It is of use once the command is no longer traced and Begin has been
// called.
func (c *Command) Child(pid int) *Child { return &Child{PID: pid, job: c, done: make(chan struct{})} }

// Begin begins to watch the command through its wait statuses. This program is stopped whenever the terminal has
// stopped the command, as with Follow, and Done is closed when the command has ended. The goroutine that watches
// ends with the command, or with this program.
func (c *Child) Begin() {
	c.job.child.Store(true)
	go c.watch()
}

func (c *Child) watch() {
	defer close(c.done)
	defer c.job.child.Store(false)
	for {
		sig, status, err := awaitChange(c.PID)
		switch {
		case err != nil:
			c.err = err
			return
		case sig == 0:
			c.status = status
			return
		}
		c.job.commandStopped(c.PID, sig)
	}
}

// Done is closed when the command has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Wait returns the exit status of the command, as a shell reports it, once it has ended.
func (c *Child) Wait(ctx context.Context) (status int, err error) {
	select {
	case <-c.done:
		return c.status, c.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Reap waits for a command that has ended, which frees its number. Until then /proc still shows the command.
func (c *Child) Reap() {
	select {
	case <-c.done:
		reap(c.PID)
	default:
	}
}

// commandStopped stops this program too if the terminal has stopped the command. A SIGSTOP from elsewhere
// does not stop this program: its sender will continue the command, and may not know us.
func (c *Command) commandStopped(pid int, sig syscall.Signal) {
	if !isStop(sig) {
		return
	}
	// The stop may be over by now: while we were stopped ourselves, the shell has
	// continued both. In the foreground no process is stopped for a read.
	c.stop(func() bool { return sig == syscall.SIGTSTP || !Foreground() || !sameGroup(pid) })
}
