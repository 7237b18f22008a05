package perfevent

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// The helper opener opens probes at the place that its arguments PID FILE OFFSET ADDR name, when its standard input ends.
var _ = ptest.Helper("opener", func() {
	pid, _ := strconv.Atoi(os.Args[1])
	off, _ := strconv.ParseUint(os.Args[3], 0, 64)
	addr, _ := strconv.ParseUint(os.Args[4], 0, 64)
	s, err := NewSignals(pid, syscall.SIGWINCH)
	if err != nil {
		panic(err)
	}
	ptest.Ready()
	ptest.AwaitEOF()
	const probes, placeSize = 60, 3
	for i := range uint64(probes) {
		if _, err := s.Probe(os.Args[2], off+placeSize*i, addr+placeSize*i); err != nil {
			panic(err)
		}
	}
	time.Sleep(time.Hour) // until it is killed
})

// TestKilledWhileOpening: when a program is killed while it opens probes in a process, no trap stays in the process's
// text, and no uprobe in the kernel. The kernel's log would show the latter.
func TestKilledWhileOpening(t *testing.T) {
	t.Parallel()
	random := ptest.Rand(t)
	p := startAt(t, ptest.BuildC(t, "places.c", "-no-pie"), "places")
	p.signals()
	for range ptest.Rounds(3, 15, 400) {
		h := ptest.StartHelper(t, "opener", strconv.Itoa(p.PID), p.path, fmt.Sprint(p.off), fmt.Sprint(p.addr))
		h.Ready()
		h.Stdin.Close()
		time.Sleep(time.Duration(random.Int64N(int64(10 * time.Millisecond)))) // any moment will do
		h.Kill()
		h.Wait()
		p.WaitFor("its own text", func() bool { return !ptest.HasTraps(p.PID) })
		if bytes.Contains(kernelLog(), fmt.Appendf(nil, ":%d failed to unregister", h.PID)) {
			t.Errorf("a uprobe is left")
		}
	}
}

// kernelLog returns the end of what the kernel has logged, nil if it may not be read.
func kernelLog() []byte {
	const readAll = 3 // SYSLOG_ACTION_READ_ALL
	b := make([]byte, 64<<10)
	n, _ := syscall.Klogctl(readAll, b)
	return b[:max(n, 0)]
}
