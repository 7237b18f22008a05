package pctl

import (
	"context"

	"ptools/internal/ptrace"
	"ptools/pctl/control"
)

// StoppedThread is one thread that stands still by itself, while the others of its process run. Pause, rendezvous
// and breakpoints of the others work as usual. Its methods may be called from any goroutine, one at a time. The
// thread resumes at Run, when the Process is closed, and when the process is released. An exec of the process ends
// it (ErrNoThread). A group stop or SIGCONT that comes meanwhile takes effect on it when it runs.
type StoppedThread struct {
	p   *Process
	own threadStop
	tid int
}

// threadStop is the part of a StopThread that its reference has to undo.
type threadStop struct{ lone *control.Lone }

// Remove lets the thread run.
func (s *threadStop) Remove(ctx context.Context) error {
	switch err := s.lone.Run(ctx); err {
	case control.ErrNoThread, control.ErrRuns:
		return nil
	default:
		return err
	}
}

// StopThread stops one thread and leaves the others alone. It returns when the thread has stopped, with a
// copy of it. Its errors are ErrNoThread; ErrStopped; ErrUnstoppable for a thread that sleeps
// uninterruptibly; and the error of ctx, with which the thread runs on.
func (p *Process) StopThread(ctx context.Context, tid int) (*StoppedThread, *Thread, error) {
	const op = "stop thread"
	c, err := p.control(op)
	if err != nil {
		return nil, nil, err
	}
	var at *Thread
	lone, err := c.StopThread(ctx, tid, p.visit(tid, &at))
	if err != nil {
		return nil, nil, p.failThread(op, tid, err)
	}
	s := &StoppedThread{p, threadStop{lone}, tid}
	if err := p.own(op, &s.own, nil); err != nil {
		return nil, nil, err
	}
	return s, at, nil
}

// Step has the thread execute one instruction, or one turn of a repeated string instruction. It returns a copy of the
// thread as it stands then. A signal that the thread is about to receive is delivered first: then the thread stands in
// front of the handler's first instruction. Breakpoints are hit and reported as when the thread runs. If ctx is done
// first, as in a system call that blocks, the step continues, and the next Step waits for its end. Its errors are
// ErrRuns and ErrNoThread.
func (s *StoppedThread) Step(ctx context.Context) (*Thread, error) {
	const op = "step thread"
	if err := s.p.open(op); err != nil {
		return nil, err
	}
	var at *Thread
	if err := s.own.lone.Step(ctx, s.p.visit(s.tid, &at)); err != nil {
		return nil, s.p.failThread(op, s.tid, err)
	}
	return at, nil
}

// Run resumes the thread. To call it again, or after the thread has ended, is no error. Handlers may call it.
func (s *StoppedThread) Run(ctx context.Context) error { return s.p.disown(ctx, "stop", &s.own) }

// visit returns a function that copies a stopped thread to *at. It runs on the control goroutine.
func (p *Process) visit(tid int, at **Thread) func(*ptrace.Regs) {
	return func(regs *ptrace.Regs) { *at = p.copyThread(tid, regs, p.c) }
}

// failThread gives an error its operation, process and thread.
func (p *Process) failThread(op string, tid int, err error) error {
	return &Error{Op: op, PID: p.PID(), TID: tid, Err: err}
}
