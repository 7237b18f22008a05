package control

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// Birth is a process that can be controlled from its first instruction, or that exists already.
type Birth struct {
	PID    int
	Parent *Controller
	// Executes says that its first instruction is that of a program that it has just executed. Before, it has
	// used its parent's memory (vfork(2), posix_spawn(3)).
	Executes bool
	// Present says that it existed before its parent was controlled.
	Present bool
	// Controlled is how many processes this control goroutine controls already.
	Controlled int
}

// following is what is done about the processes that a controlled process makes, and when control of one of
// them begins.
type following struct {
	c      *Controller
	family *family
	isTree atomic.Bool // others are controlled by the same control goroutine, or may have been
}

// takeOver takes control of a process that is stopped in front of its first instruction and would be detached
// otherwise. t is its only thread, whose record has been dropped. It returns false if the process is still to
// be detached.
func (f *following) takeOver(t *tracee.Thread, kind ptrace.Kind) bool {
	o := f.ask(Birth{PID: t.TID, Executes: kind == ptrace.KindExec})
	if o == nil {
		return false
	}
	child := f.compose(t.TID, o)
	g := &child.tracees
	if !o.unread {
		g.ReadStart()
	}
	child.traps.probes.inherit(&f.c.traps.probes)
	first := g.TakeOver(t, kind)
	if err := child.following.begin(kind); err != nil {
		f.unfollowed(t.TID, err)
		child.following.fail()
		return true
	}
	f.family.tell(Occurrence{Kind: Taken, PID: t.TID, Parent: f.c.tracees.PID, Control: child})
	if kind == ptrace.KindExec {
		child.following.tellExec()
	}
	g.TakenOver(first)
	return true
}

// fail ends control that has not begun well. The map of the address space is closed with the rest, unless the
// owner of the Controller has it already.
func (f *following) fail() {
	if !f.c.tracees.Phase().Over() {
		f.c.parting.letAllGo()
		f.c.parting.free(ModeRun)
	}
}

// ask returns the options for control of a process, or nil if it is not to be controlled.
func (f *following) ask(b Birth) *Options {
	if f.c.tracees.Leaving.Load() || f.c.tracees.Phase() >= tracee.PhaseStopping {
		return nil
	}
	b.Parent, b.Controlled = f.c, len(f.c.tracees.Procs)
	decide := f.c.opt.Follow
	if decide == nil {
		decide = f.observed
	}
	o, err := decide(b)
	switch {
	case err != nil:
		f.unfollowed(b.PID, err)
	case o == nil:
		f.family.tell(Occurrence{Kind: Left, PID: b.PID})
	}
	return o
}

// compose makes the Controller of a process of the same tree.
func (f *following) compose(pid int, o *Options) *Controller {
	child := compose(f.c.tracees.Tracer, pid, o)
	child.following.family = f.family
	child.following.isTree.Store(true)
	return child
}

// unfollowed publishes that a process is not controlled.
func (f *following) unfollowed(pid int, why error) {
	f.c.publish(notify.Event{Kind: notify.Unfollowed, Child: pid, Err: why})
	f.family.tell(Occurrence{Kind: Left, PID: pid})
}

// stays asks the client again about a process that has executed a program and is stopped in front of its first
// instruction. It returns false if the process was released. The process has no traps, which were in its memory
// before the exec. While threads are being held, the release waits until they are resumed.
func (f *following) stays() bool {
	if f.c.opt.Stays == nil || f.c.opt.Stays(f.c) {
		return true
	}
	if f.c.tracees.Stopper.Holds() > 0 {
		f.c.tracees.Requests.Post(f.leave)
		return true
	}
	f.leave()
	return false
}

// leave releases a process of a tree.
func (f *following) leave() {
	f.fail()
	f.family.tell(Occurrence{Kind: Left, PID: f.c.tracees.PID})
}

// begin begins control of a process that is stopped in front of its first instruction.
func (f *following) begin(kind ptrace.Kind) error {
	if kind == ptrace.KindExec {
		f.c.image.newImage(true)
	} else if err := f.c.image.firstImage(context.Background()); err != nil {
		return err
	}
	return f.begun()
}

// begun hands a process that is controlled now to the client (Options.Begin).
func (f *following) begun() error {
	if err := f.c.traps.probes.demandProbes(); err != nil {
		return err
	}
	if f.c.tracees.Phase().Over() {
		return ErrEnded
	}
	f.c.tracees.Enter(tracee.PhaseRunning)
	if f.c.opt.Begin == nil {
		return nil
	}
	return f.c.opt.Begin(f.c)
}

// tellExec notifies clients of the program that a process has executed.
func (f *following) tellExec() {
	if f.c.bus.Wants(notify.Exec) {
		path, _ := procfs.Exe(f.c.tracees.PID)
		f.c.publish(notify.Event{Kind: notify.Exec, Path: path, Err: f.c.image.lacks()})
	}
	f.family.tell(Occurrence{Kind: Execed, PID: f.c.tracees.PID})
	f.c.rendezvous.reach(notify.PointExec)
}

// followPresent takes control of the descendants that exist already. The kernel attaches a process that is made
// meanwhile if its creator has stopped once since it was seized (newborn.go). So all threads that do not sleep
// are stopped once. Processes that were made before that exist then, and are found in /proc.
func (f *following) followPresent(ctx context.Context) {
	if f.c.opt.Follow == nil && f.family.observe == nil {
		return
	}
	r := f.c.tracees.Tracer
	seen, stopped := map[int]bool{}, map[*tracee.Group]bool{}
	for found := true; found && ctx.Err() == nil && !f.c.tracees.Leaving.Load(); {
		found = false
		for _, g := range slices.Collect(maps.Values(r.Procs)) {
			if !stopped[g] && !g.Phase().Over() {
				stopped[g], found = true, true
				g.StopMakers()
			}
		}
		var parents map[int]int
		f.c.tracees.Waiter.Beside(func(*atomic.Bool) { parents = readParents() })
		for _, pid := range slices.Sorted(maps.Keys(parents)) {
			if seen[pid] || r.Procs[pid] != nil || r.Procs[parents[pid]] == nil {
				continue
			}
			st, err := procfs.ReadStat(pid) // as it is now
			if parent := r.Procs[st.PPID]; err == nil && parent != nil && !parent.Phase().Over() {
				seen[pid], found = true, true
				parent.News().(*lifecycle).c.following.takePresent(pid)
			}
		}
	}
}

// readParents returns the parents of all processes.
func readParents() map[int]int {
	pids, _ := procfs.Processes() // error: there is no /proc, and none is found
	parents := make(map[int]int, len(pids))
	for _, pid := range pids {
		if st, err := procfs.ReadStat(pid); err == nil {
			parents[pid] = st.PPID
		}
	}
	return parents
}

// takePresent takes control of a process that runs already.
func (f *following) takePresent(pid int) {
	if st, err := procfs.ReadStatus(pid); err != nil || st.Ended() || st.TracerPID == ptrace.ThreadID() {
		return // its end, or its birth, is handled elsewhere
	}
	if shares, err := f.c.tracees.Seizer.SeizeIfSharing(pid); err != nil {
		f.unfollowed(pid, err)
		return
	} else if shares {
		return // it is taken over when it executes a program
	}
	o := f.ask(Birth{PID: pid, Present: true})
	if o == nil {
		return
	}
	child := f.compose(pid, o)
	err := child.grab(context.Background())
	if err == nil {
		err = child.following.begun()
	}
	if err != nil {
		if !errors.Is(err, syscall.ESRCH) && !errors.Is(err, ErrEnded) {
			f.unfollowed(pid, err)
		}
		child.following.fail()
		return
	}
	f.family.tell(Occurrence{Kind: Taken, PID: pid, Parent: f.c.tracees.PID, Control: child})
	child.rendezvous.reach(notify.Grab)
}

// ErrOwnChild is the error of following a process that this program has started by other means.
var ErrOwnChild = errors.New("a child of this program cannot be followed unless Create has made it: its exit status would be in the way of what its children report")

// grab seizes a process and reads its address space.
func (c *Controller) grab(ctx context.Context) error {
	if err := c.tracees.Seizer.SeizeAll(ctx); err != nil {
		return err
	}
	return c.image.firstImage(ctx)
}

// Leave announces that all processes of this control goroutine are about to be released. From then on, threads
// that sleep are not woken for a release. They are left to the kernel until the last process has been released.
// Any goroutine may call.
func (c *Controller) Leave() { c.tracees.Leaving.Store(true) }

// AwaitAll waits for the end of control of all processes that this control goroutine has controlled.
func (c *Controller) AwaitAll() { c.tracees.Ends.Wait() }
