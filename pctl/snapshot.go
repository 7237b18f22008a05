package pctl

import (
	"context"
	"errors"
	"runtime"

	"ptools/pctl/control"
)

var errNoThread = errors.New("no such thread")

// Snapshot is a process while all its threads stand still. Only the function
// that Pause calls may call its methods, until it returns. The Threads that a
// Snapshot has returned stay valid after that.
type Snapshot struct {
	p       *Process
	stopped *control.Stopped // the live threads; nil when they run again
	// threads are copies, which outlive the stop.
	threads []*Thread
}

// Pause stops every thread, calls f and resumes the threads, also if f panics. A
// process that is held at a rendezvous, or stopped from outside, stays stopped
// afterwards. f runs on the control goroutine: it should copy what it needs and
// return. It must not make requests to the Process, which would wait for
// themselves and return ErrOnControl. Pause returns f's error, and panics with
// f's panic. If f ends its goroutine (runtime.Goexit, as FailNow of a test does),
// the process is let go and the caller's goroutine ends instead.
//
// Threads that cannot be stopped are not waited for; they are shown as
// Unstoppable and execute nothing meanwhile.
func (p *Process) Pause(ctx context.Context, f func(*Snapshot) error) error {
	c, err := p.control("pause")
	if err != nil {
		return err
	}
	var own error // f's
	var panicked any
	called, returned := false, false
	err = c.Pause(ctx, func(stopped *control.Stopped) error {
		s := &Snapshot{p: p, stopped: stopped}
		defer func() {
			s.stopped = nil
			panicked = recover() // the caller panics with it, when the process runs
		}()
		s.fill()
		called = true
		own = f(s)
		returned = true
		return nil
	})
	switch {
	case panicked != nil:
		panic(panicked)
	case called && !returned:
		<-c.Done()
		runtime.Goexit()
	case err != nil:
		return p.fail("pause", err)
	}
	return own
}

// fill copies the registers of every thread.
func (s *Snapshot) fill() {
	space := s.p.c.Space()
	all := s.stopped.Threads()
	backing := make([]Thread, len(all))
	s.threads = make([]*Thread, len(all))
	for i, from := range all {
		t := &backing[i]
		t.p, t.space, t.TID = s.p, space, from.TID()
		t.name, t.named = from.Name(), from.Name() != ""
		t.setRegisters(from.Regs())
		s.threads[i] = t
	}
}

// Threads returns every thread of the process, in no particular order.
func (s *Snapshot) Threads() []*Thread { return s.threads }

// Thread returns the thread with number tid, or nil.
func (s *Snapshot) Thread(tid int) *Thread {
	for _, t := range s.threads {
		if t.TID == tid {
			return t
		}
	}
	return nil
}

// SetRegisters changes the registers of a thread, from when it runs again.
func (s *Snapshot) SetRegisters(tid int, regs *Registers) error {
	if s.stopped == nil {
		return s.fail("set registers", tid, ErrResumed)
	}
	t := s.stopped.Thread(tid)
	if t == nil {
		return s.fail("set registers", tid, errNoThread)
	}
	if err := t.SetRegs(regs.kernel()); err != nil {
		return s.fail("set registers", tid, ErrUnstoppable)
	}
	if own := s.Thread(tid); own != nil {
		own.Registers = *regs
	}
	return nil
}

func (s *Snapshot) fail(op string, tid int, err error) error {
	return s.p.failThread(op, tid, err)
}

// ReadAt reads the process's memory, without our traps in it. It implements
// io.ReaderAt; an address is given as a signed number (two's complement).
func (s *Snapshot) ReadAt(b []byte, addr int64) (int, error) {
	if s.stopped == nil {
		return 0, s.fail("read", 0, ErrResumed)
	}
	return s.stopped.ReadAt(b, addr)
}

// WriteAt writes the process's memory, also where it is mapped read-only.
// Breakpoints in the range stay. It implements io.WriterAt.
func (s *Snapshot) WriteAt(b []byte, addr int64) (int, error) {
	if s.stopped == nil {
		return 0, s.fail("write", 0, ErrResumed)
	}
	return s.stopped.WriteAt(b, addr)
}
