package bkpt

import (
	"cmp"
	"errors"
)

// Change gives b another kind of trap. If that cannot be planted, b keeps its kind. Between an int3 and a probe
// threads run past the breakpoint for a moment, unless they are stopped. A change to an int3 waits for the
// kernel. It changes the breakpoints that share the probe as well: an int3 is no trap where a probe stands.
func (t *Table) Change(b *Breakpoint, k Kind) error {
	old, probe := b.trap.(*Uprobes)
	switch {
	case b.trap == k:
		return nil
	case !probe:
		return int3{}.toProbe(t, b, k)
	case !k.Lasting():
		return old.toInt3(t, b, k)
	case b.armed:
		// The new probe is made before the old one is discarded. The trap is the same for
		// both, and the new probe's record hides it.
		if err := k.Plant(t, []*Breakpoint{b}); err != nil {
			return err
		}
		old.giveUp(t, b)
	}
	b.trap = k
	t.use(k)
	return nil
}

// toInt3 is Table.Change from probes to int3s.
func (u *Uprobes) toInt3(t *Table, b *Breakpoint, k Kind) error {
	bs := []*Breakpoint{b}
	if b.armed {
		bs = u.together(t, b)
	}
	for _, b := range bs {
		if err := t.stand(b); err != nil {
			return err
		}
	}
	if b.armed {
		if err := u.Lift(t, bs); err != nil {
			return err
		}
		for _, b := range bs {
			if err := t.probed.free(b.Addr, t.Stays); err != nil {
				return err
			}
		}
		if err := k.Plant(t, bs); err != nil {
			return err
		}
	}
	for _, b := range bs {
		b.trap = k
	}
	t.use(k)
	return nil
}

// toProbe is Table.Change from an int3.
func (int3) toProbe(t *Table, b *Breakpoint, k Kind) error {
	armed := b.armed
	if err := t.lift(b); err != nil || b.dead {
		return cmp.Or(err, ErrDead)
	}
	if err := k.Plant(t, []*Breakpoint{b}); err != nil {
		if armed {
			err = errors.Join(err, b.trap.Plant(t, []*Breakpoint{b}))
		}
		return err
	}
	t.lifted[b.Addr] = lifted{b.Orig(), b.place}
	t.scratch.retire(b)
	b.trap = k
	t.use(k)
	t.changed()
	return nil
}
