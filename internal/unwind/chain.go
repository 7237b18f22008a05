package unwind

// A chain is what frame pointers led to when a stack was copied (Stack.Chain). The copied stack ends
// where a thread has changed stacks, and deep stacks are longer than their copy; the chain goes on.
//
// It is used only where it is certain which frame each address is of. From rbp the frame
// pointers are followed through the copy, where every return address must be the chain's,
// until one leads out of it: the next address of the chain was the word above that one then. Where
// the unwinder, by its own rules, needs just this word, it goes on with the chain. From there
// on every function has to be one of Go with a frame, which has the caller's frame pointer in its
// highest word, below the return address, and every address must stand behind a call, or be the one
// that a goroutine's first function returns to, which must be the last. Otherwise the stack is
// unwound without the chain.
type chain struct {
	all    []uint64
	fp, sp uint64   // of the thread
	linked bool     // rest and addr have been looked for
	rest   []uint64 // what is not in the copy
	addr   uint64   // of rest[0] in memory
	taken  bool     // the unwinding goes by the chain
}

// begin begins with a chain.
func (c *chain) begin(all []uint64, fp, sp uint64) { *c = chain{all: all, fp: fp, sp: sp} }

// link finds out where the frame pointers lead out of the copied stack.
func (c *chain) link(v *view) {
	c.linked = true
	fp, rest := c.fp, c.all
	if !v.covers(fp) && len(rest) > 0 {
		// Of a thread at a uprobe on a function's first instruction the kernel puts the word
		// at the stack pointer in front (perf_callchain_user).
		if top, _ := v.copied(c.sp); top == rest[0] {
			return
		}
	}
	for len(rest) > 0 {
		next, _ := v.copied(fp)
		pc, ok := v.copied(fp + 8)
		if !ok {
			break
		}
		if pc != rest[0] {
			return
		}
		fp, rest = next, rest[1:]
	}
	c.rest, c.addr = rest, fp+8
}

// word returns the word that was at addr when the stack was copied, if it is the next of the chain.
func (c *chain) word(addr uint64, v *view) (uint64, bool) {
	if len(c.all) == 0 {
		return 0, false
	}
	if !c.linked {
		c.link(v)
	}
	if len(c.rest) == 0 || addr != c.addr {
		return 0, false
	}
	return c.rest[0], true
}

// take goes on with the chain: the word that it has just returned is a return address, and
// the frame above it is the next. Its address is not known before that frame is left.
func (c *chain) take() { c.taken, c.rest, c.addr = true, c.rest[1:], 0 }
