package pctl

import (
	"context"
	"errors"
	"io/fs"

	"ptools/internal/calls"
	"ptools/pctl/control"
)

// planterOf returns the means to stop threads where calls begin and end.
func planterOf(ctx context.Context, p *Process) (calls.Planter, error) {
	c, err := p.control("count calls")
	if err != nil {
		return nil, err
	}
	plants, err := control.NewPlants(ctx, c)
	if err != nil {
		return nil, p.fail("count calls", err)
	}
	return plants, nil
}

// openWatch makes the probes. Where the kernel refuses uprobes, threads of a process that is controlled are stopped at int3s instead.
func (c *Calls) openWatch(ctx context.Context, found *calls.Selection) (*calls.Watch, error) {
	why := errTrapsWanted
	if c.trap != TrapInt3 {
		w, err := found.Open(c.spec)
		refused := errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission)
		if !refused || c.trap == TrapUprobe || c.p.c == nil || c.p.readOnly || c.spec.Follow {
			return w, err
		}
		why = err
	}
	planter, err := planterOf(ctx, c.p)
	if err != nil {
		return nil, err
	}
	c.spec.Planter, c.trapped = planter, why
	return found.Open(c.spec)
}

var errTrapsWanted = errors.New("int3s were asked for")

// Trapped returns why threads are stopped at int3s where calls begin and end, which takes some 10 to 50 us each time. It is nil if the kernel counts,
// and no thread is stopped.
func (c *Calls) Trapped() error { return c.trapped }
