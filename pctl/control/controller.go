package control

import (
	"errors"
	"runtime"
	"syscall"

	"ptools/internal/elfsym"
	"ptools/internal/guard"
	"ptools/internal/machine"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// Options are the options of Attach and Start. The zero value of each field is the default.
type Options struct {
	// Stop are the rendezvous points. Each is announced once.
	Stop []notify.Point
	// Mode says what the kernel does with the target if this program dies: ModeKill sets
	// PTRACE_O_EXITKILL. Release may still choose another mode.
	Mode Mode
	// Linker follows the run-time linker from the start, for Loaded and Unloaded events.
	// Breakpoints by symbol follow it in any case.
	Linker bool
	// KeepAwake keeps the machine's idle processors from sleeping while breakpoints are
	// hit often. See pctl.SessionOptions.
	KeepAwake bool
	// Trap says how threads are stopped at breakpoints.
	Trap Trap
	// CountAt returns where a breakpoint at the beginning of a function is set if it only counts, as a link-time address: the kernel emulates some
	// instructions, and single-steps others, which takes ten times as long. Each call comes there once. nil: at the beginning.
	CountAt func(*elfsym.File, *elfsym.Sym) uint64
	// Begins returns an error if no instruction begins at a link-time address that is not the beginning of a function. It satisfies ErrMidInstruction.
	// nil: not asked.
	Begins func(*elfsym.File, uint64) error
	// Files caches ELF files among controllers; nil: the controller has a cache of its own.
	Files *elfsym.Cache
	// Guard takes our traps out of the text if this program dies; nil: they stay. ModeKill does
	// not need it.
	Guard *guard.Guard
	// Bus receives the events; nil for a new one.
	Bus *notify.Bus
	// Trace records what happens; nil: nothing is recorded, unless the environment has PTOOLS_TRACE.
	Trace *Trace
	// OnThreadStart is called on the control goroutine while the creator is stopped
	// in its clone event, with its registers. nil: not called.
	OnThreadStart func(creator, child int, regs *ptrace.Regs)
	// Follow is called, on the control goroutine, for each process that the target has made. It
	// returns the options for control of the process, or nil to release it. An error releases
	// the process too, and is published as Unfollowed. nil: all are released.
	Follow func(Birth) (*Options, error)
	// Stays is called, on the control goroutine, each time that the process has executed a
	// program, if Follow has returned these options for it. If Stays returns false, the process
	// is released. nil: it stays controlled.
	Stays func(*Controller) bool
	// Begin is called, on the control goroutine, with the control of a process for which Follow
	// has returned these options. The process has not run yet, unless it was Present. An error
	// releases it.
	Begin func(*Controller) error

	unread bool // no client asks for more than looks at threads
}

// keptFiles is how many ELF files a controller's own cache keeps open.
const keptFiles = 32

// Controller controls one process from a control goroutine, which is locked to an OS thread and
// makes every ptrace and wait call. Processes that follow share the goroutine. All methods may
// be called from any goroutine. Those that wait for the control goroutine return ErrOnControl
// when they are called on it.
type Controller struct {
	opt        Options
	bus        *notify.Bus
	done       chan struct{}
	tracees    tracee.Group
	traps      traps
	image      image
	rendezvous rendezvous
	catches    []*Catch
	parting    parting
	following  following
}

// newController starts the control goroutine, and waits until start has succeeded or failed on
// it.
func newController(pid int, o *Options, start func(c *Controller) error) (*Controller, error) {
	if !ptrace.Supported {
		return nil, errors.ErrUnsupported
	}
	if !machine.Controls {
		return nil, ErrMachine
	}
	if o == nil {
		o = new(Options)
	}
	r := tracee.NewTracer(o.Mode)
	r.SlowBirth = o.OnThreadStart != nil
	if o.Mode != ModeKill {
		r.Guard = o.Guard
	}
	c := compose(r, pid, o)
	c.following.family = new(family)
	started := make(chan error, 1)
	go c.main(start, started, make(chan struct{}))
	if err := <-started; err != nil {
		<-c.done
		return nil, err
	}
	return c, nil
}

// compose makes a Controller that has no tracee yet.
func compose(r *tracee.Tracer, pid int, o *Options) *Controller {
	c := &Controller{opt: *o, done: make(chan struct{})}
	if c.bus = c.opt.Bus; c.bus == nil {
		c.bus = notify.NewBus()
	}
	trace := c.opt.Trace
	if trace == nil {
		trace = tracee.TraceFromEnv()
	}
	trace.Begin(pid)
	c.tracees.Init(r, pid, trace, stopHooks{&c.traps}, &lifecycle{c})
	if c.opt.Mode != ModeKill {
		c.tracees.Memory.Watch = c.opt.Guard.Watch()
	}
	c.traps.init(c)
	c.image.init(c)
	c.parting.c, c.parting.g, c.following.c = c, &c.tracees, c
	c.rendezvous = rendezvous{c: c, g: &c.tracees, points: notify.PointsOf(c.opt.Stop...)}
	return c
}

// main is the control goroutine. It ends when the target, and all processes that follow it,
// were released or have ended. Release and newController wait for that. The OS thread is never
// unlocked, so it ends with the goroutine. The kernel then detaches whatever could not be
// stopped to be detached.
func (c *Controller) main(start func(*Controller) error, started chan<- error, found chan<- struct{}) {
	runtime.LockOSThread()
	if !fit() {
		// While this goroutine is locked to its thread, another goroutine gets another thread.
		next := make(chan struct{})
		go c.main(start, started, next)
		<-next
		close(found)
		runtime.UnlockOSThread()
		return
	}
	close(found)
	ptrace.Prompt()
	r := c.tracees.Tracer
	defer r.End()
	defer r.Latency.Close()
	r.Line.TID.Store(int64(ptrace.ThreadID()))
	defer r.Line.TID.Store(0) // another thread may get the number
	defer r.LetAllGo()
	if err := start(c); err != nil {
		c.abort()
		started <- err
		return
	}
	started <- nil
	r.Loop()
}

// Concluded closes what control has opened, publishes the release, and closes Done. If threads
// were left to the kernel, it first calls wait, on another goroutine: wait returns when the
// kernel has detached them. The caller may be the control goroutine of other processes. So
// Concluded does not wait for the closing, unless last says that this is the last thing that
// the goroutine does.
func (l *lifecycle) Concluded(last bool, wait func()) {
	c := l.c
	c.tracees.Requests.Close(ErrReleased)
	if wait == nil {
		c.publish(c.parting.freed)
	}
	end := func() {
		if wait != nil {
			wait()
			c.publish(c.parting.freed)
		}
		c.close()
		close(c.done)
		c.tracees.Ends.Done()
	}
	if wait == nil && (last || c.opt.unread) { // what is observed has nothing that takes time to close
		end()
		return
	}
	go end()
}

// fit reports whether the calling OS thread can be a tracer. The main thread of a Go program
// cannot: it does not end with a goroutine that is locked to it, and the tracees would stay
// attached. A thread that has forked children before, perhaps for os/exec, cannot either. Its
// wait calls would take the ends of those children, and the stops of those that other threads
// of this program trace, from the threads that wait for them.
func fit() bool {
	return ptrace.ThreadID() != ptrace.ProcessID() && !ptrace.HasChildren()
}

// LetGo releases the target where the control goroutine ends by a panic or a runtime.Goexit of
// a handler. First the traps leave the text and every thread is detached. Then the panic
// continues. Callers that wait for the end of this control are notified in any case.
func (l *lifecycle) LetGo() {
	l.c.parting.letAllGo()
	l.c.parting.free(ModeRun)
}

// abort detaches what a failed start has seized.
func (c *Controller) abort() {
	if len(c.tracees.Threads) > 0 {
		c.parting.letAllGo()
	}
	c.tracees.Enter(tracee.PhaseEnded)
	if s := c.Space(); s != nil {
		c.image.retired = append(c.image.retired, s)
	}
}

// close closes what control has opened, when control is over.
func (c *Controller) close() {
	c.tracees.Trace.End()
	c.traps.probes.closeProbes()
	c.tracees.Memory.Close()
	c.traps.ground.close()
	c.tracees.Memory.Watch.Close()
	for _, s := range c.image.retired {
		s.Close()
	}
}

// PID returns the target's number.
func (c *Controller) PID() int { return c.tracees.PID }

// Bus returns the bus on which events are published.
func (c *Controller) Bus() *notify.Bus { return c.bus }

// Done returns a channel that is closed when control has ended: the target was released, has
// ended, or was lost.
func (c *Controller) Done() <-chan struct{} { return c.done }

// Held returns the rendezvous point at which the target is held.
func (c *Controller) Held() (notify.Point, bool) {
	p := notify.Point(c.rendezvous.held.Load())
	return p, p != 0
}

// GroupStop returns the signal by which the target is stopped from outside, or 0.
func (c *Controller) GroupStop() syscall.Signal {
	return syscall.Signal(c.tracees.Group.StopSignal.Load())
}

// Lacked returns what the program of a created process lacked when it began (Event.Err of
// Created), or nil.
func (c *Controller) Lacked() error {
	if err := c.image.lacking.Load(); err != nil {
		return *err
	}
	return nil
}

// Space returns the map of the target's present address space. An exec replaces it,
// and the old one is closed when the control goroutine ends. The last one stays open,
// for stacks that were taken before: the owner of the Controller closes it.
func (c *Controller) Space() *handle.Space { return c.image.space.Load() }

// OnControl reports whether the caller is the control goroutine: in a handler, or in a function
// given to Pause, Do or Look. No other goroutine is on its OS thread.
func (c *Controller) OnControl() bool { return c.tracees.Requests.OnControl() }

// Generation changes whenever a thread is born or ends.
func (c *Controller) Generation() uint64 { return c.tracees.Roster.Gen.Load() }

// Threads returns the numbers of the target's threads, in no particular order. The
// slice must not be changed.
func (c *Controller) Threads() []int { return c.tracees.Roster.Numbers() }
