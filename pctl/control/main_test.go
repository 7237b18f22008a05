package control

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// attach grabs a target for the test and releases it when the test ends.
func attach(t testing.TB, pid int, o *Options) *Controller {
	t.Helper()
	c, err := Attach(context.Background(), pid, traced(t, o))
	if err != nil {
		t.Fatalf("attach %d: %v", pid, err)
	}
	t.Cleanup(func() { release(t, c, ModeRun) })
	return c
}

// testEntries is how much of the trace a failed test prints.
const testEntries = 2000

// traced returns options with a trace that is printed if the test fails.
func traced(t testing.TB, o *Options) *Options {
	with := Options{Trace: NewTrace(testEntries, nil)}
	if o != nil {
		trace := with.Trace
		with = *o
		with.Trace = trace
	}
	t.Cleanup(func() {
		var text strings.Builder
		with.Trace.WriteTo(&text)
		if strings.Contains(text.String(), " "+tracee.DeedRefused.String()+" ") {
			t.Error("a change of state was refused")
		}
		if t.Failed() {
			t.Log(text.String())
		}
	})
	return &with
}

// alive reports that control has not ended.
func alive(c *Controller) bool {
	select {
	case <-c.Done():
		return false
	default:
		return true
	}
}

func release(t testing.TB, c *Controller, m Mode) {
	t.Helper()
	if err := c.Release(context.Background(), m); err != nil {
		t.Errorf("release %d: %v", c.PID(), err)
	}
	c.Space().Close()
}

// next returns the next event of s, which must come within a generous time.
func next(t testing.TB, s *notify.Subscription) notify.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := s.Next(ctx)
	if err != nil {
		t.Fatalf("next event: %v", err)
	}
	return e
}

// await returns the first event of one of the kinds; without any, the last event.
func await(t testing.TB, s *notify.Subscription, kinds ...notify.Kind) notify.Event {
	t.Helper()
	for {
		if e := next(t, s); slices.Contains(kinds, e.Kind) || len(kinds) == 0 && e.Kind.Terminal() {
			return e
		}
	}
}
