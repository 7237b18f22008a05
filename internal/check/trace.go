package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"ptools/internal/need"
	"ptools/internal/perfevent"
	"ptools/pctl"
)

// cut returns the cause and the remedy of an error of pctl, without the name of the library and the process.
func cut(err error) (why, remedy string) {
	if e, ok := errors.AsType[*pctl.Error](err); ok {
		err = e.Err
	}
	if r, ok := errors.AsType[*pctl.Refusal](err); ok {
		return r.Reason, r.Advice
	}
	return err.Error(), ""
}

// tryGrab grabs a process and lets it go. Grabbing stops no thread. f explains errors that pctl does not; nil: nothing does.
func tryGrab(ctx context.Context, feature string, pid int, f *need.Feature) Line {
	s := pctl.NewSession(nil)
	defer s.Close()
	p, err := s.Grab(ctx, pid, &pctl.GrabOptions{})
	if err != nil {
		if e, ok := errors.AsType[*pctl.Error](err); ok {
			err = e.Err
		}
		if _, known := errors.AsType[*pctl.Refusal](err); known && f != &need.Foreigners {
			f = nil
		}
		return refused(feature, f, err, "")
	}
	if err := p.Close(); err != nil {
		return refused(feature, nil, err, "")
	}
	return works(feature, "ptrace")
}

// tryForeigner grabs a child that is to the kernel like a process of another user.
func tryForeigner(ctx context.Context, pid int) Line {
	l := tryGrab(ctx, Foreigners, pid, &need.Foreigners)
	switch {
	case l.State == No && l.Cause != "":
		// Pctl says that the process is not dumpable, which it is to stand for others.
		l = refused(Foreigners, &need.Foreigners, fs.ErrPermission, "")
	case l.State == Yes && !need.Now().InFirst:
		l.By += ", of the users of this user namespace"
	}
	return l
}

// tryBreak stops a child at a breakpoint of one kind.
func tryBreak(ctx context.Context, feature string, pid int, trap pctl.Trap) Line {
	instead, by := "", "int3 instructions; a second process removes them should this one be killed"
	if trap == pctl.TrapUprobe {
		instead, by = "int3 instructions", perfevent.Mechanism()
	}
	s := pctl.NewSession(nil)
	defer s.Close()
	p, err := s.Grab(ctx, pid, &pctl.GrabOptions{Trap: trap})
	if err != nil {
		return refused(feature, nil, err, instead)
	}
	defer p.Close()
	var hits atomic.Int64
	hit := make(chan struct{}, 1)
	b, err := p.Break(ctx, pctl.Where{Symbol: "ptools/internal/check.hot"}, func(*pctl.Hit) {
		hits.Add(1)
		select {
		case hit <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return refused(feature, nil, err, instead)
	}
	defer b.Remove(ctx)
	select {
	case <-hit:
	case <-ctx.Done():
		return untried(feature, ctx.Err())
	case <-time.After(stopsBy):
		return refused(feature, nil, fmt.Errorf("a busy thread did not stop in %v", stopsBy), instead)
	}
	if risk := p.KillRisk(); trap == pctl.TrapInt3 && risk.NoGuard != nil {
		return refused(feature, nil, fmt.Errorf("nothing removes them should this program be killed: %w", risk.NoGuard), "int3 instructions")
	}
	return works(feature, by)
}

// tryContainer grabs a child that has namespaces of its own, and has uprobes made ready for it.
func tryContainer(ctx context.Context, pid int) Line {
	s := pctl.NewSession(nil)
	defer s.Close()
	p, err := s.Grab(ctx, pid, &pctl.GrabOptions{})
	if err != nil {
		return refused(Containers, &need.Tracing, err, "")
	}
	defer p.Close()
	b, err := p.Break(ctx, pctl.Where{Symbol: "ptools/internal/check.hot"}, func(*pctl.Hit) {})
	if err != nil {
		return refused(Containers, nil, err, "")
	}
	defer b.Remove(ctx)
	if !b.Found() {
		why := errors.New("its program could not be read")
		if lack := p.Lack(b.Where()); lack != nil {
			why = fmt.Errorf("%w: %w", why, lack)
		}
		return refused(Containers, nil, why, "what is in its memory")
	}
	if why := p.KillRisk().NoUprobe; why != nil {
		return refused(Containers, nil, why, "grabs and int3 instructions")
	}
	return works(Containers, "files by /proc/PID/root; uprobes")
}
