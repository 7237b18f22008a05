package control

import (
	"context"
	"errors"
	"maps"
	"slices"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// Birth is a process that can be controlled from its first instruction, or that is there already.
type Birth struct {
	PID    int
	Parent *Controller
	// Executes says that its first instruction is that of a program that it has just executed: before, it has used
	// its parent's memory (vfork(2), posix_spawn(3)).
	Executes bool
	// Present says that it was there before its parent was controlled.
	Present bool
	// Controlled is how many processes this control goroutine has already.
	Controlled int
}

// takeOver takes control of a process that stands in front of its first instruction and would be let go. t is its
// only thread, which is off the books. It reports false if the process is still to be let go.
func (c *Controller) takeOver(t *tracee.Thread, creator *tracee.Thread, kind ptrace.Kind) bool {
	o := c.ask(Birth{PID: t.TID, Executes: kind == ptrace.KindExec})
	if o == nil {
		return false
	}
	child := compose(c.tracees.Tracer, t.TID, o)
	g := &child.tracees
	child.traps.probes.inherit(&c.traps.probes)
	first := g.TakeOver(t, kind)
	if err := child.begin(kind); err != nil {
		c.unfollowed(t.TID, err)
		child.fail()
		return true
	}
	if kind == ptrace.KindExec {
		child.tellExec()
	}
	g.TakenOver(first)
	return true
}

// fail ends a control that has not begun well. The map of the address space is closed with the rest, unless
// it was handed to the owner of the Controller.
func (c *Controller) fail() {
	if !c.tracees.Phase().Over() {
		c.parting.letAllGo()
		c.parting.free(ModeRun)
	}
}

// ask asks whether a process is to be controlled; nil: no.
func (c *Controller) ask(b Birth) *Options {
	if c.opt.Follow == nil || c.tracees.Leaving.Load() || c.tracees.Phase() >= tracee.PhaseStopping {
		return nil
	}
	b.Parent, b.Controlled = c, len(c.tracees.Procs)
	o, err := c.opt.Follow(b)
	if err != nil {
		c.unfollowed(b.PID, err)
	}
	return o
}

// unfollowed tells that a process is not controlled.
func (c *Controller) unfollowed(pid int, why error) {
	c.publish(notify.Event{Kind: notify.Unfollowed, Child: pid, Err: why})
}

// begin is the beginning of control of a process that stands in front of its first instruction.
func (c *Controller) begin(kind ptrace.Kind) error {
	if kind == ptrace.KindExec {
		c.image.newImage(true)
	} else if err := c.image.firstImage(context.Background()); err != nil {
		return err
	}
	return c.begun()
}

// begun tells clients of a process that is controlled now.
func (c *Controller) begun() error {
	if err := c.traps.probes.demandProbes(); err != nil {
		return err
	}
	if c.tracees.Phase().Over() {
		return ErrEnded
	}
	c.tracees.Enter(tracee.PhaseRunning)
	return c.opt.Begin(c)
}

// tellExec tells of the program that a process has executed.
func (c *Controller) tellExec() {
	path, _ := procfs.Exe(c.tracees.PID)
	c.publish(notify.Event{Kind: notify.Exec, Path: path, Err: c.image.lacks()})
	c.rendezvous.reach(notify.PointExec)
}

// followPresent takes control of the descendants that are there. What they make meanwhile is attached by the kernel if its
// creator has stopped once since it was seized (newborn.go). The others are there when all threads that do not sleep have
// stopped once, and are found in /proc.
func (c *Controller) followPresent(ctx context.Context) {
	if c.opt.Follow == nil {
		return
	}
	r := c.tracees.Tracer
	seen, stopped := map[int]bool{}, map[*tracee.Group]bool{}
	for found := true; found && ctx.Err() == nil && !c.tracees.Leaving.Load(); {
		found = false
		for _, g := range slices.Collect(maps.Values(r.Procs)) {
			if !stopped[g] && !g.Phase().Over() {
				stopped[g], found = true, true
				g.StopMakers()
			}
		}
		pids, err := procfs.Processes()
		if err != nil {
			return
		}
		for _, pid := range pids {
			if seen[pid] || r.Procs[pid] != nil {
				continue
			}
			st, err := procfs.ReadStat(pid)
			if parent := r.Procs[st.PPID]; err == nil && parent != nil && !parent.Phase().Over() {
				seen[pid], found = true, true
				parent.News().(*lifecycle).c.takePresent(pid)
			}
		}
	}
}

// takePresent takes control of a process that runs already.
func (c *Controller) takePresent(pid int) {
	if st, err := procfs.ReadStatus(pid); err != nil || st.State == 'Z' || st.State == 'X' || st.TracerPID == ptrace.ThreadID() {
		return // its end, or its birth, is dealt with elsewhere
	}
	if shares, err := c.tracees.Seizer.SeizeIfSharing(pid); err != nil {
		c.unfollowed(pid, err)
		return
	} else if shares {
		return // it is taken over when it executes a program
	}
	o := c.ask(Birth{PID: pid, Present: true})
	if o == nil {
		return
	}
	child := compose(c.tracees.Tracer, pid, o)
	err := child.grab(context.Background())
	if err == nil {
		err = child.begun()
	}
	if err != nil {
		if !errors.Is(err, syscall.ESRCH) && !errors.Is(err, ErrEnded) {
			c.unfollowed(pid, err)
		}
		child.fail()
		return
	}
	child.rendezvous.reach(notify.Grab)
}

// ErrOwnChild is the error of following a process that this program has started by other means.
var ErrOwnChild = errors.New("a child of this program cannot be followed unless Create has made it: its exit status would be in the way of what its children report")

// grab seizes a process and takes notice of its address space.
func (c *Controller) grab(ctx context.Context) error {
	if err := c.tracees.Seizer.SeizeAll(ctx); err != nil {
		return err
	}
	return c.image.firstImage(ctx)
}

// Leave says that all that this control goroutine controls is about to be released: threads that sleep are not woken
// for it then, but left to the kernel until the last process has been released. Any goroutine may call.
func (c *Controller) Leave() { c.tracees.Leaving.Store(true) }

// OnEnd has f called, on the control goroutine, when this process or one that follows it has ended, and is still to be waited for.
func (c *Controller) OnEnd(f func(pid int)) error {
	return c.either(context.Background(), func() { c.tracees.Ending = f })
}

// AwaitAll waits for the end of control of all processes that this control goroutine has controlled.
func (c *Controller) AwaitAll() { c.tracees.Ends.Wait() }
