package control

import (
	"context"
	"sync/atomic"

	"ptools/internal/perfevent"
	"ptools/internal/program"
	"ptools/pctl/handle"
)

// Plants are int3s at many places of the program that the target executes when they are made. They implement perfevent.Planter.
type Plants struct {
	c     *Controller
	space *handle.Space
	gone  atomic.Bool

	// These belong to the control goroutine.
	of     *program.Image
	breaks map[uint64]*Break
	hit    perfevent.TrapHit
}

// NewPlants returns the means to plant int3s in the present program.
func NewPlants(ctx context.Context, c *Controller) (*Plants, error) {
	p := &Plants{c: c, breaks: map[uint64]*Break{}}
	err := c.either(ctx, func() { p.of, p.space = c.image.program, c.Space() })
	return p, err
}

// atOnce is how many int3s are planted between two looks at the threads that have come to others.
const plantedAtOnce = 64

// Plant implements perfevent.Planter. Threads run meanwhile.
func (p *Plants) Plant(addrs []uint64, hit func(*perfevent.TrapHit)) map[uint64]error {
	refused := map[uint64]error{}
	handler := func(h *Hit) {
		p.hit = perfevent.TrapHit{PID: p.c.PID(), TID: h.TID(), Addr: h.Addr(), Regs: h.Regs(), Memory: h}
		hit(&p.hit)
	}
	for len(addrs) > 0 {
		some := addrs[:min(len(addrs), plantedAtOnce)]
		addrs = addrs[len(some):]
		if err := p.c.either(context.Background(), func() { p.plant(some, handler, refused) }); err != nil {
			for _, addr := range some {
				refused[addr] = err
			}
		}
	}
	return refused
}

func (p *Plants) plant(addrs []uint64, handler Handler, refused map[uint64]error) {
	for _, addr := range addrs {
		b, err := p.c.traps.addBreak(p.of, addr, handler, toTrap)
		if err != nil {
			refused[addr] = err
			continue
		}
		b.plants, p.breaks[addr] = p, b
	}
}

// Lift implements perfevent.Planter. An error means that the target has ended, or was released, and the int3s are gone.
func (p *Plants) Lift(addrs []uint64) {
	for len(addrs) > 0 {
		some := addrs[:min(len(addrs), plantedAtOnce)]
		addrs = addrs[len(some):]
		if p.c.either(context.Background(), func() {
			for _, addr := range some {
				if b := p.breaks[addr]; b != nil {
					p.c.traps.removeBreak(b)
					delete(p.breaks, addr)
				}
			}
		}) != nil {
			return
		}
	}
}

// end notes that an int3 has gone with its text.
func (p *Plants) end(addr uint64) {
	if p != nil {
		p.gone.Store(true)
		delete(p.breaks, addr)
	}
}

// Gone implements perfevent.Planter: an object was unloaded. Its int3s do not come back with it.
func (p *Plants) Gone() bool { return p.gone.Load() }

// Close implements perfevent.Planter. The target stays controlled.
func (p *Plants) Close() error { return nil }

// Executed implements perfevent.Planter.
func (p *Plants) Executed() bool { return p.c.Space() != p.space }
