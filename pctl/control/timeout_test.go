package control

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// timedCalls is what timed.c waits in. The timeout of the last one cannot be changed.
var timedCalls = []string{"epoll_wait", "epoll_pwait2", "sigtimedwait", "semtimedop", "io_getevents", "recv SO_RCVTIMEO", "read SO_RCVTIMEO", "unwritable"}

// TestTimeoutsUnderVisits: a call with a relative timeout ends in time however often it is visited, by
// one tracer or by several in turn.
func TestTimeoutsUnderVisits(t *testing.T) {
	t.Parallel()
	needX86(t)
	const wait = 400 * time.Millisecond
	nothing := func(*Stopped) error { return nil }
	noSockets := sockets(t)
	for _, test := range []struct {
		name  string
		visit func(t *testing.T, pid int) func() bool
	}{
		{"one tracer", func(t *testing.T, pid int) func() bool {
			c := attach(t, pid, nil)
			return func() bool { return c.Pause(bg, nothing) == nil }
		}},
		{"many tracers", func(t *testing.T, pid int) func() bool {
			return func() bool {
				c, err := Attach(bg, pid, nil)
				if err != nil {
					return false
				}
				defer release(t, c, ModeRun)
				return c.Pause(bg, nothing) == nil
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			start := func() (*ptest.Target, *ptest.Truth) {
				truth := ptest.NewTruth(t)
				g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: truth}, ptest.BuildC(t, "timed.c"), "-t", strconv.Itoa(int(wait/time.Millisecond)), "-n", "3")
				g.Ready()
				return g, truth
			}
			g, truth := start()
			alone, aloneTruth := start() // how long calls take on this machine that are not visited
			visits, visit, longest := 0, test.visit(t, g.PID), time.Duration(0)
			ticks := time.NewTicker(35 * time.Millisecond)
			defer ticks.Stop()
			for begun := time.Now(); time.Since(begun) < 30*wait; visits++ {
				visited := time.Now()
				if !visit() {
					break
				}
				longest = max(longest, time.Since(visited))
				<-ticks.C
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("%v: %s", state, out)
			}
			alone.Finish()
			var late time.Duration
			for i := range timedCalls {
				late = max(late, time.Duration(aloneTruth.Share(i)))
			}
			for i, name := range timedCalls {
				excess := time.Duration(truth.Share(i))
				if strings.Contains(name, "_RCVTIMEO") && noSockets != nil {
					t.Logf("%s: %v longer, as the socket's timeout is not ours to change: %v", name, excess, noSockets)
					continue
				}
				if excess > wait/2+longest+late { // its timeout may end during a visit
					t.Errorf("%s: %v longer than %v in %d visits, of at most %v, where calls that are not visited take up to %v longer", name, excess, wait, visits, longest, late)
				}
			}
		})
	}
}

// TestRingTimeout: a wait on an io_uring ends in time however often it is looked at.
func TestRingTimeout(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "testdata/uring.c"))
	switch line := g.Line(); line {
	case "ready":
	case "none":
		t.Skip("this system does without io_uring")
	default:
		t.Fatal(line)
	}
	c := attach(t, g.PID, nil)
	pauses := 0
	for c.Pause(bg, func(*Stopped) error { return nil }) == nil {
		pauses++
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("after %d pauses: %v: %s", pauses, state, out)
	}
}
