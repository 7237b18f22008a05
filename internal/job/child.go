package job

import (
	"context"
	"syscall"
)

// Child is a command as its parent knows it, which does not trace it.
type Child struct {
	PID int

	job    *Command
	done   chan struct{}
	status int   // valid when done is closed
	err    error // why the end was not told
}

// Child returns the command as the child that it will be when it is traced no more, and Begin has been called.
func (c *Command) Child(pid int) *Child { return &Child{PID: pid, job: c, done: make(chan struct{})} }

// Begin takes note from now on of what the kernel tells a parent: this program is stopped whenever the command has
// been by the terminal, as by Follow, and Done is closed when the command has ended. The goroutine for it ends with
// the command, or with this program.
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

// Reap lets the number of a command that has ended be another process's. Until then what the kernel knows of the
// command can be read.
func (c *Child) Reap() {
	select {
	case <-c.done:
		reap(c.PID)
	default:
	}
}

// commandStopped stops this program too if the terminal has stopped the command. A stop from elsewhere, by
// SIGSTOP, is not ours: the sender will continue the command, and may not know us.
func (c *Command) commandStopped(pid int, sig syscall.Signal) {
	if !isStop(sig) {
		return
	}
	// We may learn of it when it is over: while we were stopped ourselves the shell has
	// continued both. In the foreground no process is stopped for a read.
	c.stop(func() bool { return sig == syscall.SIGTSTP || !Foreground() || !sameGroup(pid) })
}
