package perfevent

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// The helper closer opens probes in the process that its arguments PID FILE OFFSET ADDR name, each at
// another instruction. It closes them when its standard input ends.
var _ = ptest.Helper("closer", func() {
	pid, _ := strconv.Atoi(os.Args[1])
	off, _ := strconv.ParseUint(os.Args[3], 0, 64)
	addr, _ := strconv.ParseUint(os.Args[4], 0, 64)
	s, err := NewSignals(pid, syscall.SIGWINCH)
	if err != nil {
		panic(err)
	}
	var links []*Link
	const probes, placeSize = 16, 3
	for i := range uint64(probes) {
		l, err := s.Probe(os.Args[2], off+placeSize*i, addr+placeSize*i)
		if err != nil {
			panic(err)
		}
		links = append(links, l)
	}
	ptest.Ready()
	ptest.AwaitEOF()
	c := NewCloser()
	for _, l := range links {
		c.Close(l)
	}
	c.Wait()
	select {}
})

// TestKilledWhileClosing: no trap stays in the text of a process when a program is killed while it closes
// probes there.
func TestKilledWhileClosing(t *testing.T) {
	t.Parallel()
	random := ptest.Rand(t)
	p := startAt(t, ptest.BuildC(t, "places.c", "-no-pie"), "places")
	p.signals()
	for range ptest.Rounds(2, 10, 100) {
		h := ptest.StartHelper(t, "closer", strconv.Itoa(p.PID), p.path, fmt.Sprint(p.off), fmt.Sprint(p.addr))
		h.Ready()
		h.Stdin.Close()
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Millisecond)))) // any moment will do
		h.Kill()
		h.Wait()
		p.WaitFor("its own text", func() bool { return !ptest.HasTraps(p.PID) })
	}
}
