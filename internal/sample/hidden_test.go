package sample

import (
	"strings"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/profile"
)

// TestHiddenCalls: a blocked thread whose system call may not be read shows the kernel's function. It is
// stopped once, and only if a stop does no harm.
func TestHiddenCalls(t *testing.T) {
	const rounds = 20
	for where, want := range map[string]struct {
		stops int
		out   string
	}{
		"futex_do_wait": {1, ";["},
		"ep_poll":       {0, "[waiting: ep_poll] 20\n"},
		"":              {0, "[waiting] 20\n"},
	} {
		w := newWorld(1)
		th := w.threads[100]
		th.secret, th.where = true, where
		s := run(t, w, &fakeClock{}, rounds, nil)
		if th.stops != want.stops {
			t.Errorf("in %q: %d stops in %d rounds, want %d", where, th.stops, rounds, want.stops)
		}
		if out := folded(t, s, profile.Samples); !strings.Contains(out, want.out) {
			t.Errorf("in %q: folded %q, without %q", where, out, want.out)
		}
	}
}

// TestHiddenThreadThatLeaves: a thread is not stopped if it sleeps elsewhere by then.
func TestHiddenThreadThatLeaves(t *testing.T) {
	w := newWorld(1)
	th := w.threads[100]
	th.secret, th.where = true, "futex_do_wait"
	w.onLook = func() { th.where = "ep_poll"; th.sched.Slices++ }
	if run(t, w, &fakeClock{}, 20, nil); th.stops != 0 {
		t.Errorf("%d stops", th.stops)
	}
}

// TestHiddenThreadThatRuns is stopped as any other.
func TestHiddenThreadThatRuns(t *testing.T) {
	w := newWorld(1)
	th := w.threads[100]
	th.secret = true
	c := &fakeClock{}
	th.spin(0x10)
	th.call = procfs.Syscall{}
	if run(t, w, c, 10, nil); th.stops != 10 {
		t.Errorf("%d stops in 10 rounds", th.stops)
	}
}
