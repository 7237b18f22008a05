package sample

import (
	"bytes"
	"runtime"
	"testing"

	"ptools/internal/perfevent"
)

// TestRecordPool: copies of records are used again, after garbage collections too, each for stacks that have room in it; what a
// pool keeps is bounded.
func TestRecordPool(t *testing.T) {
	var p recordPool
	for _, size := range []int{0, 1, 4096, 4097, perfevent.MaxStack} {
		r := perfevent.Record{PID: size, Stack: bytes.Repeat([]byte{byte(size)}, size), Chain: []uint64{1, 2}}
		k := p.copy(&r)
		p.put(k)
		runtime.GC()
		runtime.GC()
		again := p.copy(&r)
		if again != k || again.PID != size || !bytes.Equal(again.Stack, r.Stack) || len(again.Chain) != 2 {
			t.Errorf("%d bytes: another copy, or a wrong one: pid %d, %d bytes", size, again.PID, len(again.Stack))
		}
		if n := testing.AllocsPerRun(10, func() { p.put(p.copy(&r)) }); n > 1 {
			t.Errorf("%d bytes: %v allocations", size, n) // the first run's
		}
		p.clear()
	}
	for range 300 {
		p.put(p.copy(&perfevent.Record{Stack: make([]byte, perfevent.MaxStack)}), &perfevent.Record{Stack: make([]byte, 0, 1<<16)})
	}
	if p.bytes > mostFree || p.bytes < mostFree/2 {
		t.Errorf("%d bytes are kept", p.bytes)
	}
	if p.clear(); p.bytes != 0 || len(p.free[16]) != 0 {
		t.Errorf("%d bytes after all were forgotten", p.bytes)
	}
}
