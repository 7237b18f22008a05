package goroutines

import (
	"encoding/binary"

	"ptools/internal/ptrace"
	"ptools/internal/unwind"
)

// unknown is the stack of goroutines for which the budget was not enough.
var unknown = &Stack{End: unwind.TooDeep}

// walk unwinds a copied stack. The result is valid until the next call.
func (r *Reader) walk(pc, sp, bp uint64, stack []byte) Stack {
	if len(stack) == 0 {
		return Stack{End: unwind.Unreadable}
	}
	var regs ptrace.Regs
	regs.SetPC(pc)
	regs.SetSP(sp)
	regs.SetFP(bp)
	var end unwind.End
	r.frames, end = r.unwind.Unwind(&regs, unwind.Stack{Base: sp, Data: stack}, r.frames[:0])
	return Stack{r.frames, end}
}

// shared returns the one Stack for these frames.
func (r *Reader) shared(s Stack) *Stack {
	r.key = append(r.key[:0], byte(s.End))
	for i := range s.Frames {
		f := &s.Frames[i]
		f.SP = 0
		r.key = binary.LittleEndian.AppendUint64(r.key, f.PC)
	}
	if known := r.stacks[string(r.key)]; known != nil {
		return known
	}
	if !take(&r.left.frames, len(s.Frames)) {
		return unknown
	}
	own := &Stack{append([]unwind.Frame(nil), s.Frames...), s.End}
	r.stacks[string(r.key)] = own
	return own
}

// mostThreads bounds how many m are remembered.
const mostThreads = 1 << 16

// threadsOf sets the threads of a goroutine.
func (r *Reader) threadsOf(g *G, of raw) {
	o := &r.r.layout.g
	if m := of.word(o.m); m != 0 && (g.Status == Running || g.Status == Syscall) {
		g.Thread = r.thread(m)
	}
	if m := of.word(o.lockedm); m != 0 {
		g.Locked = r.thread(m)
	}
}

// thread returns the thread of an m, 0 if it cannot be read.
func (r *Reader) thread(m uint64) int {
	if tid, ok := r.threads[m]; ok {
		return tid
	}
	var b [8]byte
	tid := 0
	if n, _ := r.m.ReadAt(b[:], int64(m+r.r.layout.m.procid)); n == len(b) {
		if id := le.Uint64(b[:]); id < 1<<31 {
			tid = int(id)
		}
	}
	if len(r.threads) < mostThreads {
		r.threads[m] = tid
	}
	return tid
}
