package control

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestSetAgain: breakpoints that are set again while their probes are being closed are probes at once.
// No call is counted as two hits, one of the old probe and one of the new one.
func TestSetAgain(t *testing.T) {
	needX86(t)
	needUprobes(t)
	const places = 50
	n := ptest.Rounds(2000, 10000, 200_000)
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Mode: ModeRun}, ptest.BuildC(t, "calls.c"), "-t", "2", "-f", "many", "-n", strconv.Itoa(n))
	hits, turns := 0, 0
	var breaks []*SymbolBreak
	set := func() {
		for i := range places {
			b, err := c.BreakSymbol(bg, "", "many_"+strconv.Itoa(i), 0, func(*Hit) { hits++ })
			if err != nil {
				t.Error(err)
				continue
			}
			breaks = append(breaks, b)
		}
		if n := c.traps.probes.stop.Len(); n != places+1 && !c.tracees.Memory.Mem.Stale() { // one is the linker's; else it has ended
			t.Errorf("%d probes, want %d: %+v", n, places+1, c.KillRisk())
		}
	}
	again := func() {
		for _, b := range breaks[len(breaks)-places:] {
			b.Remove(bg)
		}
		set()
	}
	if err := c.Do(bg, set); err != nil {
		t.Fatal(err)
	}
	end := c.Bus().Subscribe()
	defer end.Close()
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	for turns < ptest.Rounds(5, 20, 200) && c.Do(bg, again) == nil {
		for turns++; c.traps.probes.open.Load() > 3*places; { // beyond mostProbes they are int3s
			runtime.Gosched()
		}
	}
	<-c.Done()
	if e := await(t, end); !e.Exited || e.Code != 0 {
		t.Errorf("ended: %+v\n%s", e, <-out)
	}
	var counted uint64
	for _, b := range breaks {
		counted += b.Hits()
	}
	// A call between the removal and the next probe is no hit. A call that hit both probes would be
	// counted, and not handled.
	if counted != uint64(hits) || hits == 0 || hits > n {
		t.Errorf("%d hits counted, %d handled, of %d calls in %d turns", counted, hits, n, turns)
	}
}

// TestExecWhileClosing: the program that is executed shows its own text. The kernel plants the probes
// of the program before in it, because control has not waited until they are closed.
func TestExecWhileClosing(t *testing.T) {
	needX86(t)
	needUprobes(t)
	bus := notify.NewBus()
	stops := bus.Subscribe(notify.Stopped)
	defer stops.Close()
	n := ptest.Rounds(5, 20, 200)
	c, _ := run(t, &Options{Stop: []notify.Point{notify.Create}, Linker: true, Bus: bus}, ptest.BuildC(t, "execstorm.c"), "-n", strconv.Itoa(n+1), "-t", "0")
	for range n {
		next(t, stops)
		compareLinker(t, c)
		if err := c.StopAt(bg, notify.PointExec); err != nil {
			t.Fatal(err)
		}
		if err := c.Continue(bg); err != nil {
			t.Fatal(err)
		}
	}
	next(t, stops)
	compareLinker(t, c)
}

// compareLinker compares the text of the run-time linker, read through c, with its file.
func compareLinker(t *testing.T, c *Controller) {
	t.Helper()
	maps, err := procfs.Maps(c.PID())
	if err != nil {
		t.Fatal(err)
	}
	root, err := procfs.OpenRoot(c.PID())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, m := range maps {
		if m.Perm&procfs.Exec == 0 || !strings.Contains(m.Path, "/ld-linux") {
			continue
		}
		f, err := root.OpenMapped(m)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		text, file := make([]byte, m.End-m.Start), make([]byte, m.End-m.Start)
		if _, err := c.ReadAt(text, int64(m.Start)); err != nil {
			t.Fatal(err)
		}
		got, err := f.ReadAt(file, int64(m.Off))
		if err != nil && got == 0 {
			t.Fatal(err)
		}
		if !bytes.Equal(text[:got], file[:got]) {
			t.Error("the text of the run-time linker is not its file's")
		}
		return
	}
	t.Error("no run-time linker is mapped")
}
