package pctl

import (
	"context"
	"errors"
	"io"
	"slices"

	"ptools/pctl/handle"
)

// returns are the calls whose return a caller waits for (OnReturn). They
// belong to the control goroutine.
type returns struct {
	space *handle.Space // of the program; after an exec there are new returns
	at    map[uint64]*Breakpoint
	// calls has the calls by the stack pointer that they will return with. No two
	// pending calls have the same stack pointer, except where a function ends by
	// jumping to another.
	calls map[uint64][]awaited
	sweep int // dropLeft runs when there are more calls than this
}

// awaited is one Handler that waits for a return. All with one stack pointer have
// the same return address.
type awaited struct {
	addr  uint64      // return address
	entry *Breakpoint // the breakpoint at the function's first instruction
	count uint64      // which hit
	f     Handler
}

// fewCalls is the number of calls up to which dropLeft is not run.
const fewCalls = 64

var errGoneOn = errors.New("the thread has left the function's first instruction")

// OnReturn has f called once, when the function that the thread has just entered
// returns. The thread then stands at the instruction behind the call, and
// Registers().Result() is the function's result. OnReturn is for breakpoints at a
// function's first instruction, and fails for a hit that is Late. A function that ends
// by jumping to another returns when the other does. If the function is left in
// another way (longjmp, an exception, the end of its thread), f is not called, with
// two exceptions that look like a return: an exception that is caught right behind the
// call, and the return of another function that the same call instruction has called
// since. OnReturn sets a breakpoint behind the call, which stays until the Process is
// closed.
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

// await notes a call. An earlier call with the same stack pointer is still pending if
// its function has jumped to this one. If it has another return address, or is another
// call of the same function, it has been left.
func (r *returns) await(sp uint64, a awaited) {
	same := slices.DeleteFunc(r.calls[sp], func(b awaited) bool {
		return b.addr != a.addr || b.entry == a.entry && b.count != a.count
	})
	r.calls[sp] = append(same, a)
}

// dropLeft drops the calls that can be seen to have been left: their return address
// has been overwritten. Stack pointers are not compared, because a thread may have
// several stacks (sigaltstack(2), coroutines).
func (r *returns) dropLeft(m io.ReaderAt) {
	for sp, as := range r.calls {
		if addr, err := ReadUint64(m, sp-8); err != nil || addr != as[0].addr {
			delete(r.calls, sp)
		}
	}
	r.sweep = max(2*len(r.calls), fewCalls)
}

// returned is the Handler of the breakpoints at return addresses.
func (p *Process) returned(h *Hit) {
	sp := h.Registers().SP()
	as := p.returns.calls[sp]
	if len(as) == 0 || as[0].addr != h.Addr {
		return
	}
	delete(p.returns.calls, sp)
	if jumped(h, sp) {
		return // the return address is also where a loop begins, or where the catch block ends for which the call was left
	}
	for _, a := range slices.Backward(as) {
		a.f(h)
	}
}

// jumped reports whether a thread has reached a return address otherwise than by a
// return. Then below its stack pointer there is another address. The test does not hold
// if the instruction at h itself has pushed something.
func jumped(h *Hit, sp uint64) bool {
	addr, err := ReadUint64(h, sp-8)
	return (err != nil || addr != h.Addr) && h.hit.After().SP() >= sp
}
