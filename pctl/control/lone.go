package control

import (
	"context"
	"errors"

	"ptools/internal/machine"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// Errors of requests for one thread.
var (
	// ErrNoThread: the target has no such thread, or it has ended, or another thread's exec has ended it.
	ErrNoThread = errors.New("no such thread")
	// ErrAlone: the thread is stopped by itself already, by another request.
	ErrAlone = errors.New("thread is stopped already")
	// ErrRuns: the thread is not stopped by itself.
	ErrRuns = errors.New("thread is not stopped")
	// ErrNoStop: the thread sleeps uninterruptibly, or is the first thread of a living process and has ended.
	ErrNoStop = errors.New("the thread could not be stopped")
)

// errReplaced is the error of a request that another request has ended.
var errReplaced = errors.New("another request has taken the place of this one")

// Lone is a thread that is stopped by itself, on request, while the others run. Its methods may be called from
// any goroutine.
type Lone struct {
	c     *Controller
	tid   int
	phase lonePhase
	from  uint64 // where the present step began
	// wanted is the request that waits until the thread is stopped; nil: none.
	wanted *loneRequest
}

// loneRequest is a wait until a thread is stopped.
type loneRequest struct {
	visit func(*ptrace.Regs)
	done  chan error // of capacity 1
}

// lonePhase says what is due for a thread that is stopped by itself.
type lonePhase uint8

const (
	// loneStands: it stays stopped, or has to stop first.
	loneStands lonePhase = iota
	// loneSteps: it still has to execute one instruction.
	loneSteps
	// loneStepped: it has executed the instruction, or one turn of a repeated one.
	loneStepped
)

var lonePhases = [...]string{"stands", "steps", "stepped"}

func (p lonePhase) String() string { return lonePhases[p] }

// turned notes that a step that is under way was one turn of a repeated instruction.
func (l *Lone) turned() {
	if l.phase == loneSteps {
		l.phase = loneStepped
	}
}

// tell ends the request that waits for the thread, if there is one.
func (l *Lone) tell(regs *ptrace.Regs, err error) {
	w := l.wanted
	if w == nil {
		return
	}
	l.wanted = nil
	if err == nil {
		w.visit(regs)
	}
	w.done <- err
}

// StopThread stops one thread until Run and leaves the others alone. When the thread is stopped, visit is
// called on the control goroutine with its registers, to copy what it needs. To Pause, Look and rendezvous the
// stopped thread is like any other. It is resumed when the target is released, and an exec ends the stop.
// Errors are ErrNoThread, ErrAlone, ErrNoStop, and that of ctx. If ctx is done first, the thread is not
// stopped.
func (c *Controller) StopThread(ctx context.Context, tid int, visit func(*ptrace.Regs)) (*Lone, error) {
	w := &loneRequest{visit, make(chan error, 1)}
	l := &Lone{c: c, tid: tid, wanted: w}
	return l, l.await(ctx, w, func() error {
		t := c.tracees.Threads[tid]
		switch {
		case t == nil || t.Role != tracee.RoleThread:
			return ErrNoThread
		case trapsOf(t).lone != nil:
			return ErrAlone
		case t.M.Awaits() == tracee.AwaitVfork || t.M.Awaits() == tracee.AwaitParked || c.tracees.Stopper.Unresponsive(t, 1):
			return ErrNoStop
		}
		trapsOf(t).lone = l
		if t.M.State() == tracee.StateStopped {
			c.tracees.Settle(t)
		} else {
			c.tracees.Stopper.Interrupt(t, t.M.Ask())
		}
		return nil
	}, func(t *tracee.Thread) {
		trapsOf(t).lone = nil
		c.tracees.Settle(t)
	})
}

// thread returns the record of the thread, on the control goroutine.
func (l *Lone) thread() (*tracee.Thread, error) {
	t := l.c.tracees.Threads[l.tid]
	switch {
	case t == nil || t.Role != tracee.RoleThread:
		return nil, ErrNoThread
	case trapsOf(t).lone != l:
		return nil, ErrRuns
	}
	return t, nil
}

// Step has the thread execute one instruction, or one turn of a repeated one, and calls visit as StopThread
// does. A signal that the thread is about to receive is delivered first: then the step ends in front of the
// first instruction of its handler. A breakpoint at which the thread has not been reported yet is reported, as
// if the thread ran. If ctx is done first, as in a system call that blocks, the thread completes the step and
// stops at its end. The next Step waits for that one. Errors are ErrRuns and ErrNoThread.
func (l *Lone) Step(ctx context.Context, visit func(*ptrace.Regs)) error {
	w := &loneRequest{visit, make(chan error, 1)}
	return l.await(ctx, w, func() error {
		t, err := l.thread()
		if err != nil {
			return err
		}
		if l.phase != loneSteps {
			if err := l.c.tracees.LoadRegs(t); err != nil {
				return err
			}
			l.phase, l.from = loneSteps, t.Regs.PC()
		}
		l.tell(nil, errReplaced)
		l.wanted = w
		l.c.tracees.Settle(t)
		return nil
	}, func(*tracee.Thread) {})
}

// Run resumes the thread. It may be called by handlers. Errors are ErrRuns and ErrNoThread.
func (l *Lone) Run(ctx context.Context) error {
	var err error
	if e := l.c.either(ctx, func() {
		var t *tracee.Thread
		if t, err = l.thread(); err != nil {
			return
		}
		trapsOf(t).lone = nil
		l.tell(nil, ErrRuns)
		l.c.tracees.Settle(t)
	}); e != nil {
		return e
	}
	return err
}

// await makes a request on the control goroutine, and waits until the thread is stopped. withdraw is called
// there if ctx is done first.
func (l *Lone) await(ctx context.Context, w *loneRequest, begin func() error, withdraw func(*tracee.Thread)) error {
	var err error
	if e := l.c.tracees.Requests.Do(ctx, func() { err = begin() }); e != nil {
		return e
	}
	if err != nil {
		return err
	}
	select {
	case err := <-w.done:
		return err
	case <-l.c.done:
		return l.c.tracees.Requests.Err()
	case <-ctx.Done():
	}
	err = ctx.Err()
	if e := l.c.tracees.Requests.Do(context.Background(), func() {
		select {
		case err = <-w.done:
			return
		default:
		}
		if t, lack := l.thread(); lack == nil && l.wanted == w {
			l.wanted = nil
			withdraw(t)
		}
	}); e != nil {
		return e
	}
	return err
}

// settleLone handles a thread that is to be stopped by itself and has stopped. A step waits for the end of a
// group stop. It also waits while all threads have to be stopped, unless the target is held at a rendezvous.
func (o *stepper) settleLone(t *tracee.Thread) {
	l := trapsOf(t).lone
	if t.M.Position() == tracee.PosInSlot {
		o.moveOut(t)
	}
	if o.g.LoadRegs(t) != nil {
		return // it is being killed
	}
	if l.phase == loneSteps && t.Regs.PC() != l.from {
		l.phase = loneStepped
	}
	switch {
	case l.phase != loneSteps:
		l.phase = loneStands
		l.tell(&t.Regs, nil)
	case t.M.Group():
		if t.M.Holds() == 0 {
			o.g.Resume(t)
			return
		}
	case t.M.Holds() == 0 || o.c.rendezvous.held.Load() != 0 && o.g.Stopper.Holds() == 1:
		o.makeStep(t)
		return
	}
	o.g.FlushRegs(t)
}

// makeStep has a thread that is stopped by itself execute its instruction. It is called again if the thread has
// stopped for something else first.
func (o *stepper) makeStep(t *tracee.Thread) {
	k := trapsOf(t)
	if t.M.Holds() > 0 {
		o.g.Change(t, tracee.DeedUnhold, t.M.Unhold()) // Settles holds it again
	}
	pc := t.Regs.PC()
	switch b := o.c.traps.table.At(pc); {
	case t.M.Signal() != 0:
		o.stepInto(t)
	case k.at != nil && k.at.Armed() && k.at.Addr == pc:
		o.stepPast(t)
	case b != nil && b.Armed() && !b.After():
		o.awaitTrap(t) // reported there
	default:
		o.putAt(t, nil)
		k.step = &step{b: o.instruction(pc)}
		o.beginStep(t)
	}
}

// stepInto has a thread take its signal, and stop in front of the handler's first instruction.
func (o *stepper) stepInto(t *tracee.Thread) {
	k := trapsOf(t)
	if k.at != nil {
		k.mark(k.at.Addr, t.Regs.SP())
		k.at = nil
	}
	k.step = &step{b: o.instruction(t.Regs.PC()), flag: t.Regs.TrapFlag()}
	o.singleStep(t, t.M.Signal())
}

// stepPast has a thread execute the instruction at the breakpoint that it was stopped by. In a copy that would
// come back by itself the thread makes one step, and it is moved out after that.
func (o *stepper) stepPast(t *tracee.Thread) {
	k := trapsOf(t)
	b := k.at
	k.at = nil
	if b.Plan().Kind() == machine.Emulate {
		if ok, _ := b.Plan().Emulate(&t.Regs.Regs, o.g.Memory.Used); ok {
			t.Known, k.lone.phase = tracee.RegsChanged, loneStepped
			o.putAt(t, nil)
			o.g.Settle(t)
			return
		}
	}
	if b.Plan().Kind() == machine.StepAll || !o.displace(t, b) {
		o.stepInPlace(t, b)
		return
	}
	if k.step == nil { // a copy that comes back by itself
		k.step = &step{b: b, direct: true}
		o.beginStep(t)
	}
}

// instruction returns the instruction at pc as a breakpoint that is in no table, for a step.
func (o *stepper) instruction(pc uint64) *bkpt.Breakpoint {
	var code [16]byte
	n, _ := o.c.traps.readAt(code[:], int64(pc))
	return bkpt.Instruction(pc, code[:n])
}
