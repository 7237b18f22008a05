package control

import "ptools/internal/ptrace"

// shown returns the registers that a look sees of a stopped thread: its own, except
// that one which has come no further than to the first instruction of a signal's
// handler is shown where the signal has met it. It has stood in the stop of that
// signal until we answered, for longer than anything there takes without a tracer;
// whoever counts looks would take that for time in the handler.
func (c *Controller) shown(t *thread) *ptrace.Regs {
	if _, ok := t.regs.HandlerContext(); !ok {
		return &t.regs
	}
	regs := t.regs
	var context [ptrace.ContextSize]byte
	for addr, ok := regs.HandlerContext(); ok; addr, ok = regs.HandlerContext() {
		if _, err := c.mem.ReadAt(context[:], int64(addr)); err != nil {
			break
		}
		regs.SetContext(&context) // another handler's first instruction, if two signals came at once
	}
	return &regs
}
