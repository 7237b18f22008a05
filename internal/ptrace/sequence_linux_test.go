package ptrace

import (
	"encoding/binary"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestStopAbortsSequence: after a stop inside a restartable sequence a thread continues at the abort handler
// (kernel/rseq.c, rseq_ip_fixup).
func TestStopAbortsSequence(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "rseq.c"))
	g.Ready()
	tids := g.Threads()
	tid := tids[len(tids)-1]
	x := newTracer(t)
	x.seize(tid, 0)
	for range 100 {
		abort := x.haltInSequence(tid)
		x.must(SingleStep(tid, 0))
		x.want(tid, KindSignal, syscall.SIGTRAP)
		const incq = 3 // bytes
		if pc := x.regs(tid).PC(); pc != abort+incq {
			t.Fatalf("goes on at %#x, and the abort handler is at %#x", pc-incq, abort)
		}
		x.must(Cont(tid, 0))
	}
}

// haltInSequence stops a thread of rseq.c inside its restartable sequence, and returns the address of the abort
// handler. rax points to the sequence's descriptor, struct rseq_cs.
func (x *tracer) haltInSequence(tid int) (abort uint64) {
	x.t.Helper()
	for {
		x.halt(tid)
		r := x.regs(tid)
		var d [32]byte
		if _, err := (Memory{tid}).ReadAt(d[:], int64(r.Result())); err == nil {
			start, n := binary.LittleEndian.Uint64(d[8:]), binary.LittleEndian.Uint64(d[16:])
			if r.PC()-start < n {
				return binary.LittleEndian.Uint64(d[24:])
			}
		}
		x.must(Cont(tid, 0))
	}
}
