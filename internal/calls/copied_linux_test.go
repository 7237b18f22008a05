package calls

import (
	"testing"

	"ptools/internal/ptest"
)

// TestCopiedStacks: coroutines that share a stack, whose frames are copied out of it and back, have calls at the same addresses. Each beginning is counted,
// and no more ends than there were; the target runs as without probes.
func TestCopiedStacks(t *testing.T) {
	w := start(t, ptest.BuildC(t, "testdata/copied.c", "-O2"), "outer", "inner")
	old := w.work(10)
	w.Begin()
	now := w.work(ptest.Rounds(100, 1000, 100_000))
	w.End()
	for i := range w.Targets {
		var s Stats
		name := w.Targets[i].Raw
		if !w.Read(i, &s) {
			t.Fatalf("%s: %v", name, w.Targets[i].Err)
		}
		called, returned := now[name][0]-old[name][0], now[name][1]-old[name][1]
		if s.Calls != called || s.Returned > returned || s.Returned+s.Left > s.Calls {
			t.Errorf("%s: counted %d calls, %d returned, %d left; the target %d and %d", name, s.Calls, s.Returned, s.Left, called, returned)
		}
		t.Logf("%s: %d calls, %d returned, %d left", name, s.Calls, s.Returned, s.Left)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	w.work(10)
	w.lives()
}
