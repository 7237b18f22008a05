package pctl

import (
	"errors"
	"strconv"
	"testing"

	"ptools/internal/ptest"
)

// TestOnReturn: each call has its own return, with its own result, also where calls nest.
func TestOnReturn(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "./testdata/nested.c"))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	entries, deepest := 0, 0
	wrong, failed := 0, 0
	open := map[int]int{} // by thread
	_, err := p.Break(bg, Where{Symbol: "nested"}, func(h *Hit) {
		entries++
		open[h.TID]++
		deepest = max(deepest, open[h.TID])
		n := h.Registers().Args()[0]
		if err := h.OnReturn(func(h *Hit) {
			open[h.TID]--
			if h.Registers().Result() != n*(n+1)/2 {
				wrong++
			}
		}); err != nil {
			failed++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Stdin.Close()
	if e, err := p.Wait(bg); err != nil || !e.Exited || e.Code != 0 {
		t.Errorf("it ends with %+v, %v", e, err)
	}
	<-p.Done()
	if entries != 2*100*11 || deepest != 11 || wrong != 0 || failed != 0 {
		t.Errorf("%d calls, %d deep; %d wrong results, %d not followed", entries, deepest, wrong, failed)
	}
	for tid, n := range open {
		if n != 0 {
			t.Errorf("thread %d: %d calls have not returned", tid, n)
		}
	}
}

// TestOnReturnOfLeft: functions that are left by a longjmp, an exception or the end of
// their thread have no return, and are forgotten in time. A function that ends by a jump
// to another has a return, and so have functions on two stacks of a thread at once.
func TestOnReturnOfLeft(t *testing.T) {
	for _, trap := range []Trap{TrapInt3, TrapAuto} {
		t.Run(trap.String(), func(t *testing.T) { onReturnOfLeft(t, trap) })
	}
}

func onReturnOfLeft(t *testing.T, trap Trap) {
	n := ptest.Rounds(150, 1000, 20000)
	g := ptest.Start(t, ptest.BuildC(t, "./testdata/left.cc"), strconv.Itoa(n))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, &GrabOptions{Trap: trap})
	want := map[string]struct{ entries, returns int }{
		"by_return": {3 * n, 3 * n}, "by_jump": {n, n}, "across_stacks": {n, n},
		"by_longjmp": {n, 0}, "by_throw": {n, 0}, "by_exit": {n, 0},
	}
	entries, returns, wrong, most := map[string]int{}, map[string]int{}, map[string]int{}, 0
	for name := range want {
		_, err := p.Break(bg, Where{Symbol: name}, func(h *Hit) {
			entries[name]++
			result := 2*h.Registers().Args()[0] + 1
			if name == "across_stacks" {
				result = h.Registers().Args()[0] + 7
			}
			if err := h.OnReturn(func(h *Hit) {
				returns[name]++
				if h.Registers().Result() != result {
					wrong[name]++
				}
			}); err != nil {
				wrong[name]++
			}
			most = max(most, len(p.returns.calls))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	g.Stdin.Close()
	if e, err := p.Wait(bg); err != nil || !e.Exited || e.Code != 0 {
		t.Errorf("it ends with %+v, %v", e, err)
	}
	<-p.Done()
	for name, w := range want {
		if entries[name] != w.entries || returns[name] != w.returns || wrong[name] != 0 {
			t.Errorf("%s: entered %d times, %d returns told, %d wrong; want %d and %d", name,
				entries[name], returns[name], wrong[name], w.entries, w.returns)
		}
	}
	if most > 4*fewCalls {
		t.Errorf("%d calls are waited for, and three are under way", most)
	}
}

// TestStopAt asks for the same point again and again.
func TestStopAt(t *testing.T) {
	s := session(t, nil)
	const sh = "true; exec sh -c 'exec sh -c \"exit 5\"'"
	p, err := s.Create(bg, &Command{Path: "/bin/sh", Args: []string{"sh", "-c", sh}}, &CreateOptions{Stop: []Point{PointCreate}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	events := p.Events(&EventOptions{Kinds: []Kind{KindStopped}})
	var stops []Point
	for e, err := range events.All(bg) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != KindStopped {
			if e.Code != 5 {
				t.Errorf("it ends with %+v", e)
			}
			break
		}
		stops = append(stops, e.Point)
		points := []Point{PointExec}
		if e.Point != PointMain {
			points = append(points, PointMain)
		}
		if err := errors.Join(p.StopAt(bg, points...), p.Continue(bg)); err != nil {
			t.Fatal(err)
		}
	}
	want := []Point{PointCreate, PointMain, PointExec, PointMain, PointExec, PointMain}
	if len(stops) != len(want) {
		t.Fatalf("stopped at %v, want %v", stops, want)
	}
	for i := range want {
		if stops[i] != want[i] {
			t.Errorf("stop %d at %v, want %v", i, stops[i], want[i])
		}
	}
}
