package control

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// Attach takes control of a running process. Every thread is seized. None is stopped,
// unless a rendezvous at notify.Grab is asked for: then the process stands still when
// Attach returns. The error is the kernel's. ctx bounds the wait for a process in the
// middle of an exec, except inside PTRACE_SEIZE itself. It bounds nothing after Attach has
// returned.
func Attach(ctx context.Context, pid int, o *Options) (*Controller, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newController(pid, o, func(c *Controller) error {
		if err := c.openBell(); err != nil {
			return err
		}
		if c.opt.Follow != nil {
			if st, err := procfs.ReadStat(pid); err == nil && st.PPID == ptrace.ProcessID() {
				return ErrOwnChild
			}
		}
		if err := c.grab(ctx); err != nil {
			return err
		}
		if err := c.traps.probes.demandProbes(); err != nil {
			return err
		}
		if c.tracees.Phase().Over() {
			return ErrEnded // while it was stopped for its first breakpoint
		}
		c.tracees.Enter(tracee.PhaseRunning)
		c.publish(notify.Event{Kind: notify.Grabbed, Threads: c.tracees.Count()})
		c.rendezvous.reach(notify.Grab)
		c.following.followPresent(ctx)
		if c.tracees.Phase().Over() {
			return ErrEnded
		}
		return nil
	})
}

// firstImage reads the address space of a process whose threads are seized, unless an exec
// of one of them has caused that already. From now on every exec is reported.
func (i *image) firstImage(ctx context.Context) error {
	if i.imageNew || i.c.opt.unread {
		return nil
	}
	err := i.g.Memory.Open()
	if err == nil {
		i.c.traps.killRisk.writable(!i.g.Memory.Pokes())
		err = i.followImage()
	}
	if errors.Is(err, syscall.ESRCH) {
		// It is in the middle of an exec, or of its end. Either will be reported.
		if !i.g.Waiter.Until(func() bool { return i.imageNew || ctx.Err() != nil }, func() {}) {
			return ErrEnded
		}
		if i.imageNew {
			return nil
		}
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("address space: %w", err)
	}
	return nil
}

func (c *Controller) openBell() (err error) {
	r := c.tracees.Tracer
	if r.Line.Bell, err = ptrace.NewBell(); err == nil {
		r.Alarm.Init(r.Line.Bell, tracee.RingAgain)
		r.Latency.Init(r.Line.Bell, c.opt.KeepAwake)
	}
	return err
}
