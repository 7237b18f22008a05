package perfevent

import (
	"errors"
	"io/fs"
	"testing"
)

// TestSignals: each arrival is one signal, in every thread, and the last one's
// registers are those before the instruction.
func TestSignals(t *testing.T) {
	p := startProbed(t)
	s, err := OpenSignals(p.path, []uint64{p.off + 4, p.off}, p.PID)
	if errors.Is(err, fs.ErrPermission) {
		t.Skipf("%v: needs CAP_BPF and CAP_PERFMON", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const calls = 500
	if s.Take(p.PID) != nil {
		t.Error("a hit before any call")
	}
	for _, line := range []string{"500", "t500"} {
		if perf, other, _ := p.call(line); other != 2*calls || perf != 0 {
			t.Errorf("%s calls over two probes: %d signals, want %d (and %d from perf)", line, other, 2*calls, perf)
		}
	}
	h := s.Take(p.PID)
	if h == nil {
		t.Fatal("no hit")
	}
	const rip = 16
	if page := h.Regs[rip] % 4096; h.Index != 0 || page != (p.off+4)%4096 {
		t.Errorf("last hit is of offset %d at %#x, want 0 at ...%03x", h.Index, h.Regs[rip], (p.off+4)%4096)
	}
	if s.Take(p.PID) != nil {
		t.Error("a hit taken twice")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if perf, other, _ := p.call("10"); perf+other != 0 {
		t.Errorf("%d signals after Close", perf+other)
	}
}

func BenchmarkTake(b *testing.B) {
	p := startProbed(b)
	s, err := OpenSignals(p.path, []uint64{p.off}, p.PID)
	if err != nil {
		b.Skip(err)
	}
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		s.Take(p.PID)
	}
}
