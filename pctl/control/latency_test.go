package control

import (
	"encoding/binary"
	"os"
	"runtime"
	"testing"

	"ptools/internal/ptest"
)

// latency returns how long the kernel lets the waking of a processor take, in µs.
func latency(t *testing.T) uint32 {
	t.Helper()
	f, err := os.Open("/dev/cpu_dma_latency")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [4]byte
	if _, err := f.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return binary.NativeEndian.Uint32(b[:])
}

// TestKeepAwake: processors are kept awake while hits come often, and no longer. That ends when
// hits come no more, and when control ends meanwhile.
func TestKeepAwake(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("the device belongs to root on Linux")
	}
	const none = 2000 * 1000 * 1000 // PM_QOS_CPU_LATENCY_DEFAULT_VALUE
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "calls.c"), "-t", "1", "-f", "push")
	g.Ready()
	asleep := func() bool { return latency(t) == none }
	g.WaitFor("processors that no other program keeps awake", asleep)
	eachTrap(t, func(t *testing.T, trap Trap) {
		c := attach(t, g.PID, &Options{KeepAwake: true, Trap: trap})
		b, err := c.BreakSymbol(bg, "", "f_push", 0, func(*Hit) {})
		if err != nil {
			t.Fatal(err)
		}
		g.WaitFor("processors to be kept awake", func() bool { return latency(t) == 0 })
		if err := b.Remove(bg); err != nil {
			t.Fatal(err)
		}
		g.WaitFor("processors to sleep after the last hit", asleep)
		if _, err := c.BreakSymbol(bg, "", "f_push", 0, func(*Hit) {}); err != nil {
			t.Fatal(err)
		}
		g.WaitFor("processors to be kept awake again", func() bool { return latency(t) == 0 })
		release(t, c, ModeRun)
		g.WaitFor("processors to sleep after control", asleep)
	})
}
