package control

import (
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestAgain: of the calls that return EINTR only close(2) is left as it is. Whatever it returns,
// the descriptor is closed.
func TestAgain(t *testing.T) {
	const epollWait, read = 232, 0
	for _, c := range []struct {
		nr     int64
		result int64
		want   bool
	}{
		{epollWait, -int64(syscall.EINTR), true},
		{epollWait, eagain, false},
		{read, -int64(syscall.EINTR), true},
		{read, 4, false},
		{closing, -int64(syscall.EINTR), false},
	} {
		if got := again(c.nr, c.result); got != c.want {
			t.Errorf("call %d with %d: %v, want %v", c.nr, c.result, got, c.want)
		}
	}
}

// TestRingTimeout: a wait on an io_uring ends with its time, however often it is looked at.
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
