package pctl

import (
	"context"

	"ptools/pctl/handle"
)

// returns are the calls that somebody waits to see return. They belong to the
// control goroutine.
type returns struct {
	space *handle.Space // of the program; an exec makes away with all of them
	at    map[uint64]*Breakpoint
	calls map[call]*awaited
}

// call is a call that is under way: no other one of the thread has the same stack
// pointer behind it.
type call struct {
	tid int
	sp  uint64 // when it has returned
}

type awaited struct {
	addr uint64 // where it returns to
	f    Handler
}

// OnReturn has f called, once, when the function returns that the thread has just
// entered: with the thread at the instruction behind the call, where
// Registers().Result() is what the function has returned. It is for breakpoints at a
// function's first instruction. Of a function that is left in another way (longjmp,
// an exception, the end of its thread) nothing is told. It plants a breakpoint behind
// the call, which stays until the Process is closed.
func (h *Hit) OnReturn(f Handler) error {
	p := h.Breakpoint.p
	sp := h.Registers().SP()
	addr, err := ReadUint64(h, sp)
	if err != nil {
		return p.fail("return", err)
	}
	r := p.returns
	if space := p.Space(); r == nil || r.space != space {
		r = &returns{space: space, at: map[uint64]*Breakpoint{}, calls: map[call]*awaited{}}
		p.returns = r
	}
	if r.at[addr] == nil {
		b, err := p.Break(context.Background(), Where{Addr: addr}, p.returned)
		if err != nil {
			return err
		}
		r.at[addr] = b
	}
	r.calls[call{h.TID, sp + 8}] = &awaited{addr, f}
	return nil
}

// returned is the Handler behind calls.
func (p *Process) returned(h *Hit) {
	key := call{h.TID, h.Registers().SP()}
	if a := p.returns.calls[key]; a != nil && a.addr == h.Addr {
		delete(p.returns.calls, key)
		a.f(h)
	}
}
