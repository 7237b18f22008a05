package ptrace

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestMemory reads and writes text, in pieces that begin and end within words. The bytes around them must stay.
func TestMemory(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	x := newTracer(t)
	x.seize(g.PID, 0)
	x.must(Interrupt(g.PID))
	x.want(g.PID, KindEventStop, 0)

	text := x.regs(g.PID).PC() &^ 63
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", g.PID))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	shown := func() []byte {
		b := make([]byte, 64)
		if _, err := mem.ReadAt(b, int64(text)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	before, m := shown(), Memory{g.PID}
	for _, r := range [][2]int{{0, 64}, {0, 1}, {7, 1}, {3, 4}, {6, 13}, {1, 63}, {8, 8}} {
		from, n := r[0], r[1]
		b := make([]byte, n)
		if got, err := m.ReadAt(b, int64(text)+int64(from)); got != n || err != nil || !bytes.Equal(b, before[from:from+n]) {
			t.Errorf("read %d at %d: % x, %d, %v", n, from, b, got, err)
		}
		for i := range b {
			b[i] ^= 0xff
		}
		if got, err := m.WriteAt(b, int64(text)+int64(from)); got != n || err != nil {
			t.Errorf("write %d at %d: %d, %v", n, from, got, err)
		}
		want := append(append(bytes.Clone(before[:from]), b...), before[from+n:]...)
		if now := shown(); !bytes.Equal(now, want) {
			t.Errorf("after writing %d at %d: % x, want % x", n, from, now, want)
		}
		if _, err := m.WriteAt(before, int64(text)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := m.ReadAt(make([]byte, 4), 8); n != 0 || err != syscall.EIO {
		t.Errorf("read of nothing: %d, %v", n, err)
	}
}
