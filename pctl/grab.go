package pctl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/control"
	"ptools/pctl/handle"
)

// GrabOptions of Session.Grab. Nil means the zero value. Where the process is under
// control in this Session already, its options are those of the grab that took control.
// A grab that asks for others is refused with ErrOptions; fields that are zero ask for none.
type GrabOptions struct {
	// ReadOnly grabs without control: nothing is attached to or stopped.
	ReadOnly bool
	// Stop are the rendezvous points, each reached once (StopAt asks for
	// more); nil: none. PointGrab holds the process when Grab returns.
	Stop []Point
	// Release is what becomes of the process when the last reference is
	// closed or we die; zero: ModeRun.
	Release Mode
	// Linker follows the run-time linker from the start, for KindLoaded and
	// KindUnloaded events; it takes a breakpoint of our own in the process. With
	// TrapAuto that is no int3 in a process that is to outlive us (KillRisk.NoLoads).
	// Zero: only once a breakpoint by symbol needs it.
	Linker bool
	// Trap is the means by which breakpoints stop threads; zero: TrapAuto.
	Trap Trap
	// OnThreadStart is called for each thread that the process creates, on the
	// control goroutine while the creator stands still in its clone event, with
	// its registers. It must copy and return. Nil: not called.
	OnThreadStart func(creator, child int, regs *Registers)
	// Follow has the processes that this one makes controlled as well, and its
	// descendants that are there. Nil: they are let go.
	Follow *Follow
}

// Grab returns a reference to a running process, controlled unless o asks for
// ReadOnly. The error of one that cannot be grabbed is an *Error with a *Refusal
// where a cause is known. ctx bounds the waiting for other goroutines that are grabbing
// the same process. A Handler cannot grab its own process while that is being
// closed (ErrOnControl).
func (s *Session) Grab(ctx context.Context, pid int, o *GrabOptions) (*Process, error) {
	if o == nil {
		o = new(GrabOptions)
	}
	p, err := s.grab(ctx, pid, o)
	if err != nil {
		return nil, &Error{Op: "grab", PID: pid, Err: err}
	}
	return p, nil
}

func (s *Session) grab(ctx context.Context, pid int, o *GrabOptions) (*Process, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.grabs.Done()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if pid <= 0 {
		return nil, ErrNoProcess
	}
	h, mine, err := s.take(ctx, pid, o)
	for tries := 1; err != nil; tries++ {
		why := explain(pid, err, o.ReadOnly)
		again, unknown := passing(pid, err, why, tries)
		if unknown != nil {
			return nil, unknown
		}
		if !again {
			return nil, why
		}
		h, mine, err = s.take(ctx, pid, o)
	}
	if held, ok := h.Control().(*controlled); ok && !mine && !o.ReadOnly {
		if err := held.share(o); err != nil {
			return nil, errors.Join(err, h.Release())
		}
	}
	if o.ReadOnly && h.ReadOnly() {
		if err := s.vet(h); err != nil {
			return nil, errors.Join(err, h.Release())
		}
	}
	return s.add(h, o.ReadOnly)
}

// passing reports whether an error of a grab, with the cause that was found for it,
// may be of a moment that is over, so that it is worth another try after so many. unknown is why that cannot be told.
func passing(pid int, err, cause error, tries int) (again bool, unknown error) {
	if vanished(err) {
		alive, err := lives(pid)
		return alive && tries <= execRetries, err
	}
	var r *Refusal
	return tries <= deniedRetries && errors.As(cause, &r) && r.Reason == byModule, nil
}

const (
	// execRetries is how often a grab is tried once more where a process seems to
	// be gone and lives. In an exec by another thread than the first the first is a
	// zombie, and then the other has its number and no longer its own (execve(2),
	// Effect on other processes; de_thread in fs/exec.c): a process that looks from one
	// thread to the next meanwhile can miss both. A process that is stuck in its end
	// lives, too, so the tries are counted.
	execRetries = 20
	// deniedRetries is how often where it was denied and nothing speaks against it:
	// another tracer may have held the process, and have let it go before we looked
	// who it is. Each try may be a line in the audit log.
	deniedRetries = 5
)

// take gets the handle, and with it control unless o asks for ReadOnly. mine reports
// that this call took control, rather than share it.
func (s *Session) take(ctx context.Context, pid int, o *GrabOptions) (h *handle.Handle, mine bool, err error) {
	if o.ReadOnly {
		h, err = s.registry.Grab(ctx, pid)
		return h, false, err
	}
	h, err = s.registry.Control(ctx, pid, func(ctx context.Context) (handle.Controlled, error) {
		mine = true
		return s.attach(ctx, pid, o)
	})
	return h, mine, err
}

// vanished reports that err says that there is no process, or no more.
func vanished(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, ErrNoProcess) ||
		errors.Is(err, ErrEnded) || errors.Is(err, ErrZombie)
}

// lives reports whether a thread of process pid has not ended. The error is that of a lack of descriptors.
func lives(pid int) (bool, error) {
	fd, err := procfs.OpenPIDFD(pid)
	switch {
	case procfs.Lacking(err):
		return false, err
	case err != nil:
		return false, nil
	}
	defer fd.Close()
	return fd.Alive(), nil
}

// attach takes control of a process that this Session does not control.
func (s *Session) attach(ctx context.Context, pid int, o *GrabOptions) (handle.Controlled, error) {
	if err := glance(pid).check(false); err != nil {
		return nil, err
	}
	held := &controlled{
		stop: o.Stop, mode: o.Release, linker: o.Linker, trap: o.Trap, starts: kernelHook(o.OnThreadStart), follow: o.Follow,
	}
	var err error
	held.Controller, err = control.Attach(ctx, pid, s.control(held))
	if err != nil {
		return nil, err
	}
	s.awaitTree(held)
	return held, nil
}

// control are the options of control that was asked for.
func (s *Session) control(held *controlled) *control.Options {
	o := &control.Options{
		Stop: places(held.stop), Mode: control.Mode(held.mode), Linker: held.linker, Trap: control.Trap(held.trap), OnThreadStart: held.starts,
		Files: s.files, Guard: guarded.Load(), KeepAwake: s.keepAwake, Trace: s.newTrace(),
	}
	if held.follow != nil {
		o.Follow = func(b control.Birth) (*control.Options, error) { return s.born(held, b) }
	}
	return o
}

// vet refuses to read processes that have nothing to be read, once for each:
// the maps of a zombie or a kernel thread are empty, which is no error.
func (s *Session) vet(h *handle.Handle) error {
	pid := h.PID()
	s.mu.Lock()
	start, ok := s.vetted[pid]
	s.mu.Unlock()
	if ok && start == h.StartTime() {
		return nil
	}
	if err := glance(pid).check(true); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.vetted) > 1024 { // of ended processes, most of them
		clear(s.vetted)
	}
	s.vetted[pid] = h.StartTime()
	return nil
}

// explain finds the cause of a refusal.
func explain(pid int, err error, readOnly bool) error {
	var known *Refusal
	switch {
	case errors.As(err, &known), errors.Is(err, os.ErrClosed), errors.Is(err, ErrOnControl), errors.Is(err, ErrNoUprobe),
		errors.Is(err, errors.ErrUnsupported), procfs.Lacking(err),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	f := readFacts(pid)
	if f.tracer == 0 && errors.Is(err, fs.ErrPermission) {
		f.readTracers()
	}
	return f.diagnose(err, readOnly)
}

// controlled is a Controller as a handle owns it.
type controlled struct {
	*control.Controller
	stop    []Point
	mode    Mode
	linker  bool
	trap    Trap
	starts  func(creator, child int, regs *ptrace.Regs)
	created string // path of the program, if we started it

	follow *Follow
	parent int // process that it follows; 0: none
	depth  int // so many of those are above it
}

// share refuses a grab that asks for what this control was not given.
func (c *controlled) share(o *GrabOptions) error {
	var others []string
	for _, option := range []struct {
		name    string
		differs bool
	}{
		{"Stop", slices.ContainsFunc(o.Stop, func(p Point) bool { return !slices.Contains(c.stop, p) })},
		{"Release", o.Release != 0 && o.Release != c.mode},
		{"Linker", o.Linker && !c.linker},
		{"Trap", o.Trap != 0 && o.Trap != c.trap},
		{"OnThreadStart", o.OnThreadStart != nil},
		{"Follow", o.Follow != nil && o.Follow != c.follow},
	} {
		if option.differs {
			others = append(others, option.name)
		}
	}
	if others == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOptions, strings.Join(others, ", "))
}

// kernelHook is a function of GrabOptions.OnThreadStart as control calls it.
func kernelHook(f func(creator, child int, regs *Registers)) func(creator, child int, regs *ptrace.Regs) {
	if f == nil {
		return nil
	}
	return func(creator, child int, regs *ptrace.Regs) { f(creator, child, (*Registers)(&regs.Regs)) }
}

// MayAwait refuses callers on the goroutine that is to end.
func (c *controlled) MayAwait() error {
	if c.OnControl() {
		return ErrOnControl
	}
	return nil
}

// Release lets the process go when the last reference is dropped. The map of
// its address space has been kept until then, for stacks that were copied
// before.
func (c *controlled) Release() error {
	err := c.Controller.Release(context.Background(), control.Mode(c.mode))
	if space := c.Space(); space != nil {
		space.Close()
	}
	return err
}
