package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ptools/internal/calls"
	"ptools/internal/inner"
	"ptools/internal/job"
	"ptools/pctl"
)

// trap is the value of --trap.
type trap pctl.Trap

var allTraps = []pctl.Trap{pctl.TrapAuto, pctl.TrapInt3, pctl.TrapUprobe}

func trapWords() (words []string) {
	for _, t := range allTraps {
		words = append(words, t.String())
	}
	return words
}

func (t *trap) String() string { return pctl.Trap(*t).String() }
func (t *trap) Type() string   { return "TRAP" }

func (t *trap) Set(text string) error {
	for _, one := range allTraps {
		if one.String() == text {
			*t = trap(one)
			return nil
		}
	}
	return errors.New("not auto, int3 or uprobe")
}

// trapping is how threads are stopped where the kernel does not count.
type trapping struct {
	owner   *pctl.Session // nil: no thread is stopped
	owns    bool          // and it is to be closed at the end
	command *pctl.Process // the command, which is under control already; nil: there is none
	cost    time.Duration // of a hit
}

// assumedTrap is the cost of a hit where it cannot be measured.
const assumedTrap = 30 * time.Microsecond

// open makes the probes, or has threads stop at int3s if the kernel refuses those, or if that is asked for.
func (t *trapping) open(ctx context.Context, s *session, p *part, found *calls.Selection, spec *calls.Spec) (*calls.Watch, error) {
	why := errors.New("")
	if asked := pctl.Trap(s.trap); asked != pctl.TrapInt3 {
		w, err := found.Open(*spec)
		refused := errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission)
		switch {
		case !refused || asked == pctl.TrapUprobe:
			return w, err
		case s.follow:
			return nil, fmt.Errorf("--follow takes uprobes, and threads would have to be stopped at breakpoints: %w", err)
		}
		why = err
	}
	if err := t.take(ctx, s, p, spec, why); err != nil {
		return nil, err
	}
	w, err := found.Open(*spec)
	if err != nil {
		err = errors.Join(err, p.release())
	}
	return w, err
}

// take takes control of the process of a part, and says once what that means.
func (t *trapping) take(ctx context.Context, s *session, p *part, spec *calls.Spec, why error) (err error) {
	if t.owner == nil {
		t.owner, t.owns = pctl.NewSession(nil), true
	}
	if t.cost == 0 {
		if err := pctl.QuietStops(); err != nil {
			return err
		}
		measured, unmeasured := job.MeasureTrap(ctx, t.owner)
		some := fmt.Sprintf("some %.0fus a hit", measured.Seconds()*1e6)
		if unmeasured != nil {
			measured, some = assumedTrap, fmt.Sprintf("some 10 to 50us a hit (not measured: %v)", unmeasured)
		}
		t.cost = measured
		reason := ""
		if text := message(why); text != "" {
			reason = text + ": "
		}
		about := s.about
		s.about = ""
		s.say("%sthreads are stopped at breakpoints where calls begin and end, %s", reason, some)
		s.about = about
	}
	spec.Cost = calls.Cost{Emulated: t.cost, Stepped: t.cost}
	held := t.command
	if held == nil {
		held, err = t.owner.Grab(ctx, p.process.PID, &pctl.GrabOptions{Trap: pctl.TrapInt3})
		if err != nil {
			return err
		}
		p.held = held
	}
	planter, err := inner.Planter(ctx, held)
	if err != nil {
		return errors.Join(err, p.release())
	}
	spec.Planter, p.trapped = planter, true
	return nil
}

// release ends the control of a process that was taken for its calls.
func (p *part) release() (err error) {
	if p.held != nil {
		err = p.held.Close()
		p.held = nil
	}
	return err
}

// end ends the control of all processes.
func (t *trapping) end() error {
	if !t.owns {
		return nil
	}
	t.owns = false
	return t.owner.Close()
}

// count counts the calls of the command, which stays under control meanwhile, and waits for it. It returns the command's exit status.
func (t *trapping) count(ctx context.Context, s *session, command *job.Command, received <-chan os.Signal) (int, error) {
	p := t.command
	command.Follow(p)
	events := p.Events(&pctl.EventOptions{Kinds: []pctl.Kind{pctl.KindUndead}})
	defer events.Close()
	counting, waiting, leave := passing(ctx, command, p.PID(), received)
	defer leave(nil)
	if err := p.Continue(ctx); err != nil {
		return 0, err
	}
	err := s.count(counting, p.Done())
	counting.end()
	if err := errors.Join(err, s.close()); err != nil {
		return 0, err
	}
	e, err := events.Next(waiting)
	if sig, ok := errors.AsType[signalled](context.Cause(waiting)); ok && err != nil {
		return sig.status(), nil
	}
	return job.EndStatus(e), err
}
