package pctl

import (
	"context"
	"errors"
	"io"
	"slices"

	"ptools/pctl/handle"
)

// returns are the calls whose return a caller waits for. They belong to the
// control goroutine.
type returns struct {
	space *handle.Space // of the program; an exec makes away with all of them
	at    map[uint64]*Breakpoint
	// calls has them by the stack pointer when they have returned. No two calls under
	// way have the same one, except where a function ends by jumping to another.
	calls map[uint64][]awaited
	sweep int // how many calls there are when those that were left are looked for
}

// awaited is one Handler that waits. Those of one stack pointer return to the same
// address.
type awaited struct {
	addr  uint64      // behind the call
	entry *Breakpoint // whose hit the call was
	count uint64      // which hit
	f     Handler
}

// fewCalls is up to how many calls it is not asked whether some were left.
const fewCalls = 64

var errGoneOn = errors.New("the thread has left the function's first instruction")

// OnReturn has f called, once, when the function returns that the thread has just
// entered: with the thread at the instruction behind the call, where
// Registers().Result() is what the function has returned. It is for breakpoints at a
// function's first instruction, and fails for a hit that is Late. A function that ends
// by jumping to another returns when that does. Of one that is left in another way
// (longjmp, an exception, the end of its thread) nothing is told, unless it cannot be
// told from a return: an exception that is caught right behind the call, or the return
// of something else that the same instruction has called since. OnReturn plants a
// breakpoint behind the call, which stays until the Process is closed.
func (h *Hit) OnReturn(f Handler) error {
	p := h.Breakpoint.p
	if h.Late {
		return p.fail("return", errGoneOn)
	}
	sp := h.Registers().SP()
	addr, err := ReadUint64(h, sp)
	if err != nil {
		return p.fail("return", err)
	}
	r := p.returns
	if space := p.space(); r == nil || r.space != space {
		r = &returns{space: space, at: map[uint64]*Breakpoint{}, calls: map[uint64][]awaited{}, sweep: fewCalls}
		p.returns = r
	}
	if r.at[addr] == nil {
		b, err := p.Break(context.Background(), Where{Addr: addr}, p.returned)
		if err != nil {
			return err
		}
		p.keep(b)
		r.at[addr] = b
	}
	r.await(sp+8, awaited{addr, h.Breakpoint, h.Count, f})
	if len(r.calls) > r.sweep {
		r.dropLeft(h)
	}
	return nil
}

// await notes a call. Earlier ones with the same stack pointer are under way still if
// they end in this one by a jump, not if they are calls from elsewhere, or of the same
// function: those have been left.
func (r *returns) await(sp uint64, a awaited) {
	same := slices.DeleteFunc(r.calls[sp], func(b awaited) bool {
		return b.addr != a.addr || b.entry == a.entry && b.count != a.count
	})
	r.calls[sp] = append(same, a)
}

// dropLeft drops the calls that were left, as far as that can be seen: their return
// address has been overwritten. Stack pointers are not compared, as a thread may have
// several stacks (sigaltstack(2), coroutines).
func (r *returns) dropLeft(m io.ReaderAt) {
	for sp, as := range r.calls {
		if addr, err := ReadUint64(m, sp-8); err != nil || addr != as[0].addr {
			delete(r.calls, sp)
		}
	}
	r.sweep = max(2*len(r.calls), fewCalls)
}

// returned is the Handler behind calls.
func (p *Process) returned(h *Hit) {
	sp := h.Registers().SP()
	as := p.returns.calls[sp]
	if len(as) == 0 || as[0].addr != h.Addr {
		return
	}
	delete(p.returns.calls, sp)
	if jumped(h, sp) {
		return // where the loop begins, or the block of a catch ends, that has left the call
	}
	for _, a := range slices.Backward(as) {
		a.f(h)
	}
}

// jumped reports that a thread has not come behind a call by a return: below its stack
// pointer there is another address, unless the instruction itself has pushed something.
func jumped(h *Hit, sp uint64) bool {
	addr, err := ReadUint64(h, sp-8)
	return (err != nil || addr != h.Addr) && h.hit.After().SP() >= sp
}
