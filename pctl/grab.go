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

	"ptools/internal/calls"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/pctl/control"
	"ptools/pctl/handle"
)

// GrabOptions of Session.Grab. Nil means the zero value. If the process is under control in
// this Session already, the options of the grab that took control apply. A grab that asks
// for others is refused with ErrOptions; a zero field asks for nothing.
type GrabOptions struct {
	// ReadOnly grabs without control: nothing is attached or stopped.
	ReadOnly bool
	// Stop are the rendezvous points, each reached once (StopAt asks for
	// more); nil: none. PointGrab holds the process when Grab returns.
	Stop []Point
	// Release is what becomes of the process when the last reference is
	// closed or we die; zero: ModeRun.
	Release Mode
	// Linker follows the run-time linker from the start, for KindLoaded and
	// KindUnloaded events. That needs a breakpoint of our own in the process. With
	// TrapAuto that breakpoint is never an int3 in a process that is to outlive us
	// (KillRisk.NoLoads). Zero: the linker is followed only once a breakpoint by
	// symbol needs it.
	Linker bool
	// Trap is the means by which breakpoints stop threads; zero: TrapAuto.
	Trap Trap
	// OnThreadStart is called for each thread that the process creates. It runs
	// on the control goroutine, while the creator stands still in its clone
	// event, and gets the creator's registers. It must copy what it needs and
	// return. Nil: not called.
	OnThreadStart func(creator, child int, regs *Registers)
	// Follow has the processes that this one makes controlled as well, and its
	// present descendants. Nil: they are let go.
	Follow *Follow
}

// Grab returns a reference to a running process, controlled unless o asks for ReadOnly.
// If the process cannot be grabbed, the error is an *Error, with a *Refusal if a cause
// is known. ctx bounds the waiting for other goroutines that are grabbing the same
// process. A Handler cannot grab its own process while the process is being closed
// (ErrOnControl).
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

// passing reports whether a grab that has failed so many times is worth another try: err, whose cause was found to be
// cause, may be due to a state that has passed. unknown is why that cannot be determined.
func passing(pid int, err, cause error, tries int) (again bool, unknown error) {
	if vanished(err) {
		alive, err := lives(pid)
		return alive && tries <= execRetries, err
	}
	var r *Refusal
	return tries <= deniedRetries && errors.As(cause, &r) && r.Reason == byModule, nil
}

const (
	// execRetries is how often a grab is tried again if a process seems to be gone but
	// lives. When another thread than the first executes a program, the first becomes a
	// zombie. Then the other thread takes the number of the first and gives up its own
	// (execve(2), Effect on other processes; de_thread in fs/exec.c). A reader that
	// looks from one thread to the next meanwhile can miss both. A process that is
	// stuck in its exit lives, too, so the tries are limited.
	execRetries = 20
	// deniedRetries is how often a grab is tried again if it was denied for no
	// reason that can be found. Another tracer may have held the process, and have
	// detached from it before we read its TracerPid. Each try may add a line to the
	// audit log.
	deniedRetries = 5
)

// take gets the handle, and with it control unless o asks for ReadOnly. mine reports
// that this call took control, rather than shares it.
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

// vanished reports whether err says that the process does not exist or has ended.
func vanished(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, ErrNoProcess) ||
		errors.Is(err, ErrEnded) || errors.Is(err, ErrZombie)
}

// lives reports whether process pid has a thread that has not ended. The error is a lack of descriptors.
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

// control returns the options for control of the process that held stands for.
func (s *Session) control(held *controlled) *control.Options {
	o := &control.Options{
		Stop: places(held.stop), Mode: control.Mode(held.mode), Linker: held.linker, Trap: control.Trap(held.trap), OnThreadStart: held.starts,
		CountAt: calls.CountingPlace, Begins: begins, Files: s.files, Guard: guarded.Load(), KeepAwake: s.keepAwake, Trace: s.newTrace(),
	}
	if held.follow != nil {
		o.Follow = func(b control.Birth) (*control.Options, error) { return s.born(held, b) }
	}
	return o
}

// vet refuses processes that have nothing to read. It checks each process
// once. The maps of a zombie or a kernel thread are empty, which is no error
// of the read.
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
	if len(s.vetted) > 1024 { // most are of ended processes
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
	depth  int // how many such processes are above it
}

// share refuses a grab that asks for options that this control does not have.
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

// MayAwait refuses callers on the control goroutine, whose end they would wait for.
func (c *controlled) MayAwait() error {
	if c.OnControl() {
		return ErrOnControl
	}
	return nil
}

// Release lets the process go when the last reference is dropped. The map of
// its address space is kept until then, for stacks that were copied earlier.
func (c *controlled) Release() error {
	err := c.Controller.Release(context.Background(), control.Mode(c.mode))
	if space := c.Space(); space != nil {
		space.Close()
	}
	return err
}
