package pctl

import (
	"context"
	"errors"
	"os"

	"ptools/internal/procfs"
	"ptools/pctl/control"
)

// Command is a program to be created under control.
type Command struct {
	Path  string     // the executable; no search is made
	Args  []string   // argv, with argv[0]; nil: Path alone
	Env   []string   // nil: this program's environment
	Dir   string     // "": this program's directory
	Files []*os.File // descriptors 0, 1, …; other descriptors of this program are inherited unless they are close-on-exec
}

// CreateOptions of Session.Create. Nil means the zero value.
type CreateOptions struct {
	// Stop are the rendezvous points, each reached once (Process.StopAt asks
	// for more); nil: none. PointCreate holds the process before its first
	// instruction.
	Stop []Point
	// Release is what becomes of the process when the last reference is
	// closed or this program dies. Until Create has returned, the death of
	// this program kills it.
	Release Mode
	// Linker, Trap, OnThreadStart and Follow are those of GrabOptions.
	Linker        bool
	Trap          Trap
	OnThreadStart func(creator, child int, regs *Registers)
	Follow        *Follow
}

// Create starts a program under control and returns a reference to its process.
// The process is a child of this one, but is to be waited for by Wait and Events
// only. The command sees its terminal, signal mask and descriptors as if a shell
// had started it. For a program that cannot be executed the error is that of
// execve(2). For a process that a signal ends before it can be held it is an
// *EndError.
func (s *Session) Create(ctx context.Context, cmd *Command, o *CreateOptions) (*Process, error) {
	if o == nil {
		o = new(CreateOptions)
	}
	p, err := s.create(ctx, cmd, o)
	if err != nil {
		return nil, &Error{Op: "create " + cmd.Path, Err: err}
	}
	return p, nil
}

func (s *Session) create(ctx context.Context, cmd *Command, o *CreateOptions) (*Process, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.grabs.Done()
	if err := procfs.CheckOwn(); err != nil {
		return nil, noProc(err)
	}
	held := &controlled{
		stop: o.Stop, mode: o.Release, linker: o.Linker, trap: o.Trap, starts: kernelHook(o.OnThreadStart), follow: o.Follow, created: cmd.Path,
	}
	var err error
	held.Controller, err = control.Start(ctx, (*control.Command)(cmd), s.control(held))
	var filter *control.FilterError
	if errors.As(err, &filter) {
		return nil, byFilter(filter)
	}
	var end *control.EndError
	if errors.As(err, &end) {
		return nil, &EndError{eventOf(end.End)}
	}
	if err != nil {
		return nil, err
	}
	s.awaitTree(held)
	h, err := s.registry.Adopt(ctx, held.PID(), held)
	if err != nil {
		return nil, err
	}
	return s.add(h, false)
}
