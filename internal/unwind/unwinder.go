package unwind

import "ptools/internal/ptrace"

// An Unwinder finds the frames of stacks. It remembers how it left a function at
// each program counter that it has seen. No two goroutines may use one Unwinder at
// the same time, but any number of Unwinders may share Tables.
//
// Its parts are a codeReader, which reads code; a planner, which finds out how to leave a function, and
// remembers that; and an activation, which is what is known of the thread at the present frame. Its own
// methods leave frames: leave chooses the way.
type Unwinder struct {
	planner
	activation
	chain  chain
	counts Counts

	// The stack being unwound.
	goSP   uint64 // system stack pointer below the last C to Go crossing, or 0
	hops   int    // changes of stack
	begun  uint64 // strays before
	sure   int    // number of frames that were found in the copies alone; -1: all until now
	beyond int    // number of frames of the last stack that were not

	partial bool // only the program counter and the stack pointer were given
	doubt   bool // the next frame may be invented: it is kept only if the stack is whole
	parked  bool // a frame is of Go's scheduler: what the goroutine before it did is not on this stack
}

// New returns an Unwinder for a process whose executable memory code describes.
func New(code Code) *Unwinder {
	u := new(Unwinder)
	u.codeReader = codeReader{code: code, other: &u.mem}
	return u
}

// Counts returns what u has done so far.
func (u *Unwinder) Counts() Counts {
	c := u.counts
	c.Outside, c.Strays = u.mem.outside, u.mem.strays
	return c
}

// Unwind appends the frames of a thread to dst, innermost first, and returns why
// they end. regs are the registers at the time when the stack was copied. The
// thread need not be stopped any more. Unwind does not allocate if dst is large
// enough and the functions have been seen before.
func (u *Unwinder) Unwind(regs *ptrace.Regs, stack Stack, dst []Frame) ([]Frame, End) {
	u.stacks++
	u.mem.reset(&stack)
	first := len(dst)
	dst, end := u.start(regs, &stack, stack.Chain, dst)
	if u.chain.taken && (end != Whole || u.mem.strays != u.begun) {
		dst, end = u.start(regs, &stack, nil, dst[:first])
	}
	if u.chain.taken {
		u.counts.Chained++
	}
	u.counts.Frames += uint64(len(dst) - first)
	if u.beyond = 0; u.sure >= 0 {
		u.beyond = max(len(dst)-u.sure, 0)
	}
	u.mem.data, u.mem.copies, u.mem.mem = nil, nil, nil
	return dst, end
}

// Needed returns the pages, each by its address, in which the last stack has words that were not in Stack.Data, at most eight. It is
// valid until the next stack.
func (u *Unwinder) Needed() []uint64 { return u.mem.needs[:u.mem.need] }

// Beyond returns how many frames of the last stack come after the first word that was not in the copies.
func (u *Unwinder) Beyond() int { return u.beyond }

// start unwinds a stack by a chain, or without one.
func (u *Unwinder) start(regs *ptrace.Regs, stack *Stack, chain []uint64, dst []Frame) ([]Frame, End) {
	u.known, u.goSP, u.hops, u.partial = 0, 0, 0, stack.Partial
	u.begun, u.sure, u.parked, u.doubt, u.loose = u.mem.strays, -1, false, false, false
	u.mem.need = 0
	u.load(regs, stack.Partial)
	u.chain.begin(chain, u.regs[regFP], u.regs[regSP])
	switch {
	case stack.Partial: // nothing says which code it is
	case regs.InSegment():
		return append(dst, Frame{SP: regs.SP()}), Unsupported
	case regs.Is32Bit():
		return append(dst, Frame{PC: regs.PC(), SP: regs.SP()}), Unsupported
	}
	certain := 0
	dst, end := u.walk(dst, &certain)
	if certain > 0 && end != Whole {
		return dst[:certain], NoRule
	}
	return dst, end
}

// walk goes from frame to frame. It sets certain to the length of dst before the first frame that is in doubt, if there is
// one.
func (u *Unwinder) walk(dst []Frame, certain *int) ([]Frame, End) {
	at := place{pc: u.regs[regPC]}
	at.m, at.ok = u.code.Find(at.pc)
	for depth := 0; ; depth++ {
		if depth == MaxDepth {
			return dst, TooDeep
		}
		sp := u.regs[regSP]
		dst = append(dst, Frame{PC: at.pc, SP: sp, Return: at.ret})
		how, end := u.leave(&at, sp)
		if u.sure < 0 && u.mem.strays != u.begun {
			u.sure = len(dst)
		}
		if at.site != behindCall {
			f := &dst[len(dst)-1]
			f.PC, f.Return, f.Signal = at.pc, false, at.site == inTrampoline
		}
		if u.doubt && *certain == 0 {
			*certain = len(dst)
		}
		if end != 0 {
			return dst, end
		}
		next := place{pc: u.regs[regPC], ret: how == byReturn}
		if next.m, next.ok = u.code.Find(next.lookup()); !next.ok {
			if u.regs[regPC] == 0 {
				return dst, Whole
			}
			return dst, NotCode
		}
		at = next
	}
}

// A place is a program counter and the mapping it is in.
type place struct {
	pc   uint64
	ret  bool // pc is a return address
	ok   bool // m is there
	m    Mapping
	site site // as the plan says; known once the frame has been left
}

// lookup returns the address to look up: for a return address an address in the
// call before it.
func (p *place) lookup() uint64 {
	if p.ret {
		return p.pc - 1
	}
	return p.pc
}

// An exit says how the caller was left for its callee.
type exit uint8

const (
	byReturn    exit = iota // the caller made a call
	byInterrupt             // its callee was forced upon it
	bySignal                // the same, and the callee is a signal trampoline
)
