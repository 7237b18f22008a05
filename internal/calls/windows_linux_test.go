package calls

import (
	"fmt"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestWindows: a call whose beginning or end is not in the same window has no time, though the next one is at its place on the stack.
func TestWindows(t *testing.T) {
	uprobe.NeedLinks(t)
	w := start(t, ptest.BuildC(t, "testdata/steps.c"), "step")
	w.guard.set(w.Watch, []load{{}}, map[int]Level{0: Windowed}, 0)
	if err := w.guard.replant(w.Watch); err != nil {
		t.Fatal(err)
	}
	w.kernel.Switch(true)
	step := func() {
		fmt.Fprintln(w.Stdin)
		w.Line()
		w.WaitState("S") // in the next call
	}
	path, ends, entries := w.placesOf(&w.Targets[0])
	open := func() func() {
		lift, ok := w.kernel.Window(path, 0, ends, entries)
		if !ok {
			t.Fatal("no window")
		}
		return lift
	}
	has := func(when string, begun, returned uint64) {
		t.Helper()
		var s Stats
		if w.kernel.Read(0, &s); s.Calls != begun || s.Returned != returned {
			t.Errorf("%s: %d calls, %d returned; want %d and %d", when, s.Calls, s.Returned, begun, returned)
		}
	}
	w.WaitState("S")
	step()
	has("without a window", 0, 0)
	lift := open()
	step()
	has("in a window", 1, 0)
	lift()
	open()() // from here on the call counts as one of an earlier window, whether the probes are lifted yet or not
	step()
	has("after it", 1, 0)
	lift = open()
	step()
	has("in the next window", 2, 0)
	step()
	has("a whole call", 3, 1)
	lift()
}

// TestWindowsOfAlways: no call that is open when a window ends gets the end of one that is seen while the next window is opened.
func TestWindowsOfAlways(t *testing.T) {
	uprobe.NeedLinks(t)
	target := ptest.Start(t, ptest.BuildC(t, "testdata/always.c", "-pthread"))
	target.Ready()
	w := watchSpec(t, target.PID, "a.out", Spec{}, "always")
	w.guard.set(w, []load{{}}, map[int]Level{0: Windowed}, 0)
	if err := w.guard.replant(w); err != nil {
		t.Fatal(err)
	}
	w.kernel.Switch(true)
	path, ends, entries := w.placesOf(&w.Targets[0])
	for range ptest.Rounds(20, 40, 400) {
		lift, ok := w.kernel.Window(path, 0, ends, entries)
		if !ok {
			t.Fatal("no window")
		}
		time.Sleep(2 * time.Millisecond)
		lift()
		time.Sleep(20 * time.Millisecond)
	}
	var s Stats
	w.kernel.Read(0, &s)
	fmt.Fprintln(target.Stdin)
	var longest time.Duration
	fmt.Sscan(target.Line(), &longest)
	if s.Returned == 0 || s.Max > longest+time.Millisecond {
		t.Errorf("%d calls, the longest %v, where that takes %v", s.Returned, s.Max, longest)
	}
	target.Finish()
}

// TestRaised: a function that is called less often gets its probes back.
func TestRaised(t *testing.T) {
	uprobe.NeedLinks(t)
	target := ptest.Start(t, ptest.BuildC(t, "testdata/busy.c"), "later")
	target.Ready()
	w := watchSpec(t, target.PID, "a.out", Spec{Limit: .2, Cost: Cost{Emulated: time.Microsecond, Stepped: 10 * time.Microsecond}}, "hot")
	w.Begin()
	hot := &w.Targets[0]
	fmt.Fprintln(target.Stdin)
	target.WaitFor("windows", func() bool { c := w.Coverage(hot); return c.Level == Windowed && c.Timed > 0 })
	fmt.Fprintln(target.Stdin)
	target.WaitFor("hot to be timed again", func() bool { return w.Coverage(hot).Level == Timed })
	before := w.Coverage(hot)
	target.WaitFor("time", func() bool { return w.Coverage(hot).Timed > before.Timed })
	if !before.Partly || before.Timed == 0 {
		t.Errorf("%+v", before)
	}
	if changed, err := w.Changed(); len(changed) != 1 || err != nil {
		t.Errorf("changed: %v, %v", changed, err)
	}
	w.Close()
	ptest.TextIntact(t, target.PID)
	target.Kill()
}
