package control

import (
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// A Handler is called on the control goroutine for each hit of a breakpoint. The thread
// that hit is stopped in front of the instruction, or behind it if the hit is Executed.
// Other threads run. A Handler must not make requests that wait (they return ErrOnControl).
// It may call Break, BreakSymbol and Remove. If it panics, the traps leave the text and the
// target is released before the panic continues.
type Handler func(*Hit)

// Hit is one thread at a breakpoint. It is valid until the handler returns.
type Hit struct {
	c        *Controller
	t        *tracee.Thread
	b        *Break
	attached any
}

// Attach has the event of this hit carry v.
func (h *Hit) Attach(v any) { h.attached = v }

// TID returns the thread that hit.
func (h *Hit) TID() int { return h.t.TID }

// Addr returns the address of the breakpoint.
func (h *Hit) Addr() uint64 { return h.b.addr }

// Regs returns the thread's registers, with the program counter at Addr unless the
// hit is Late. They may be read until the handler returns; SetRegs changes them.
func (h *Hit) Regs() *ptrace.Regs { return &h.t.Regs }

// Executed reports whether the instruction at Addr has run: the trap is a kernel uprobe.
// Regs are from before the instruction, memory is as the instruction has left it.
func (h *Hit) Executed() bool { return h.b.bp != nil && h.b.bp.After() }

// Late reports whether the thread, which blocked the signal of the uprobe, has run on and
// stopped elsewhere. Regs are those that it has there.
func (h *Hit) Late() bool { return h.Executed() && trapsOf(h.t).uprobe.state != uprobeShown }

// After returns the registers with which the thread continues unless SetRegs changes them.
// They are those of Regs or, if the instruction was Executed, those that it has left. They
// may be read until the handler returns.
func (h *Hit) After() *ptrace.Regs {
	if trapsOf(h.t).uprobe.state == uprobeShown {
		return &trapsOf(h.t).uprobe.after
	}
	return &h.t.Regs
}

// SetRegs changes the registers. If the program counter is not Addr, the thread continues
// there. At Addr it executes the instruction, behind a uprobe once more.
func (h *Hit) SetRegs(r *ptrace.Regs) { h.t.SetRegs(r) }

// ReadAt reads the target's memory without our traps in it.
func (h *Hit) ReadAt(p []byte, addr int64) (int, error) { return h.c.traps.readAt(p, addr) }

// WriteAt writes the target's memory; breakpoints in the range stay.
func (h *Hit) WriteAt(p []byte, addr int64) (int, error) { return h.c.traps.writeAt(p, addr) }

// Hold asks for a rendezvous when the handlers of this hit have returned. The whole target
// then stands still, with this thread at Addr, until Continue.
func (h *Hit) Hold() { h.c.rendezvous.wantHold = true }

func (x *traps) publishHit(t *tracee.Thread, b *Break, attached any) {
	e := notify.Event{Kind: notify.Hit, TID: t.TID, Addr: b.addr, Hits: b.Hits(), Late: (&Hit{c: x.c, t: t, b: b}).Late(), Attached: attached}
	if s := b.symbol; s != nil {
		e.Hits = s.Hits()
		e.Symbol, e.Offset = b.label()
		if o, ok := x.c.Space().Object(b.addr); ok {
			e.Object = o.Name
		}
	}
	x.c.publish(e)
}
