package control

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// Command is a program to be started under control.
type Command struct {
	Path  string   // the executable; no search is made
	Args  []string // argv, with argv[0]
	Env   []string // nil: this program's environment
	Dir   string   // "": this program's directory
	Files []*os.File
}

// Start makes a process that runs the command, controlled from before its first instruction. The
// process waits between fork and exec until it has been seized with PTRACE_O_EXITKILL. If this
// program dies before that, the process ends by itself. So no moment of our death leaves a process
// behind. If execve fails, the error is the kernel's. If a seccomp filter refuses ptrace(2), it is
// a *FilterError. If the process was killed before it could be held, it is an *EndError.
func Start(ctx context.Context, cmd *Command, o *Options) (*Controller, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newController(0, o, func(c *Controller) error { return c.create(cmd) })
}

// EndError says how a created process has ended before it could be held. It satisfies ErrEnded.
type EndError struct{ End notify.Event }

func (*EndError) Error() string { return ErrEnded.Error() }

// Unwrap returns ErrEnded.
func (*EndError) Unwrap() error { return ErrEnded }

func (c *Controller) create(cmd *Command) error {
	pc := &ptrace.Command{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir}
	if pc.Env == nil {
		pc.Env = os.Environ()
	}
	if len(pc.Args) == 0 {
		pc.Args = []string{cmd.Path}
	}
	for _, f := range cmd.Files {
		if f == nil {
			return fmt.Errorf("descriptor %d: %w", len(pc.Files), os.ErrInvalid)
		}
		pc.Files = append(pc.Files, f.Fd())
	}
	child, err := c.fork(pc)
	if err != nil {
		return tracee.Filtered(err)
	}
	c.tracees.PID, c.tracees.Seizer.Told, c.tracees.Seizer.NewbornSeized, c.tracees.Seizer.Alone = child.PID, ModeKill, true, true
	c.tracees.Tracer.Enlist(&c.tracees)
	c.tracees.Enter(tracee.PhaseStarting)
	if err := c.openBell(); err != nil {
		child.Abandon()
		return err
	}
	if err := ptrace.Seize(child.PID, c.tracees.Seizer.Options(ModeKill)); err != nil {
		child.Abandon()
		ptrace.Reap(child.PID)
		return tracee.Filtered(err)
	}
	c.tracees.Trace.Begin(c.tracees.PID)
	c.tracees.Trace.About(c.tracees.PID, tracee.DeedSeize, 0, nil)
	c.tracees.Add(child.PID, tracee.RoleThread, tracee.StateRunning)
	if err := child.Exec(); err != nil {
		child.Abandon()
	}
	c.tracees.Waiter.Until(func() bool { return c.tracees.Phase() != tracee.PhaseStarting }, nil)
	if err := child.ExecError(); err != nil {
		return err
	}
	if c.tracees.Phase().Over() {
		return &EndError{undead(c.parting.lastEnd)}
	}
	if err := c.traps.probes.demandProbes(); err != nil {
		c.parting.release(ModeKill)
		return err
	}
	return nil
}

// fork makes the child on an OS thread that stays for as long as the child lives. The parent of a
// process is a thread. A child that asks for a signal at the end of its parent (PR_SET_PDEATHSIG)
// gets it at the end of that thread, even if this program lives on. The tracing thread ends when it
// releases the target. The child also inherits nothing of the tracing thread, such as its signal
// mask, in which the bell is unblocked. It gets the mask that this program was given.
func (c *Controller) fork(pc *ptrace.Command) (child *ptrace.Child, err error) {
	made := make(chan struct{})
	go func() { // ends with the child, or with this program
		runtime.LockOSThread() // never unlocked
		child, err = ptrace.Fork(pc)
		close(made)
		if err == nil {
			<-c.done // before that the tracing thread collects the end, which wakes no other thread
			ptrace.AwaitEnd(child.PID)
		}
	}()
	<-made
	return child, err
}
