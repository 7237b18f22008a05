package unwind

// A chain is the return addresses that frame pointers led to when a stack was copied (Stack.Chain).
// The copied stack ends where a thread has changed stacks, and deep stacks are longer than their
// copy. The chain goes beyond that.
//
// It is used only if it is certain which frame each address belongs to. The frame pointers are
// followed from rbp through the copy, where every return address must be that of the chain, until a
// frame pointer leads out of the copy. The next address of the chain was the word above that frame
// pointer. When the unwinder, by its own rules, needs just this word, it continues with the chain.
// From there on every function must be a Go function with a frame: such a frame has the caller's
// frame pointer in its highest word, below the return address. Every address must be behind a call,
// or be the address that a goroutine's first function returns to, which must be the last. Otherwise
// the stack is unwound without the chain.
type chain struct {
	all    []uint64
	fp, sp uint64   // of the thread
	linked bool     // rest and addr have been looked for
	rest   []uint64 // the part of all that is not in the copy
	addr   uint64   // of rest[0] in memory
	taken  bool     // the unwinding uses the chain
}

// begin begins with a chain.
func (c *chain) begin(all []uint64, fp, sp uint64) { *c = chain{all: all, fp: fp, sp: sp} }

// link finds out where the frame pointers lead out of the copied stack.
func (c *chain) link(v *view) {
	c.linked = true
	fp, rest := c.fp, c.all
	if !v.covers(fp) && len(rest) > 0 {
		// For a thread at a uprobe on a function's first instruction, the kernel puts the
		// word at the stack pointer in front (perf_callchain_user).
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

// word returns the word that was at addr when the stack was copied, if that is the next word of the
// chain.
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

// take continues with the chain: the word that it has just returned is a return address,
// and the frame above it is the next. The address of the next word is not known before
// that frame is left.
func (c *chain) take() { c.taken, c.rest, c.addr = true, c.rest[1:], 0 }
