package main

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"ptools/pctl"
)

var when = time.Date(2026, 1, 2, 3, 4, 5, 67, time.UTC)

// printed are events with the line each gives, and the fields of its JSON.
var printed = []struct {
	event  pctl.Event
	line   string
	fields string
}{
	{pctl.Event{Kind: pctl.KindGrabbed, Threads: 12, Point: pctl.PointGrab}, "grabbed (12 threads), stopped at grab",
		`"event":"grabbed","threads":12,"point":"grab"`},
	{pctl.Event{Kind: pctl.KindGrabbed, Threads: 1}, "grabbed (1 thread)", `"event":"grabbed","threads":1`},
	{pctl.Event{Kind: pctl.KindCreated, Path: "/bin/ls"}, "created /bin/ls", `"event":"created","object":"/bin/ls"`},
	{pctl.Event{Kind: pctl.KindStopped, Point: pctl.PointMain}, "stopped at main", `"event":"stopped","point":"main"`},
	{pctl.Event{Kind: pctl.KindContinued}, "continued", `"event":"continued"`},
	{pctl.Event{Kind: pctl.KindExec, Path: "/bin/ls"}, "exec /bin/ls", `"event":"exec","object":"/bin/ls"`},
	{pctl.Event{Kind: pctl.KindFork, Child: 77}, "forked pid 77", `"event":"fork","child":77`},
	{pctl.Event{Kind: pctl.KindLoaded, Path: "/lib/\x1blibm.so.6", Base: 0x7f0000000000}, `loaded /lib/\x1blibm.so.6`,
		`"event":"loaded","addr":"0x7f0000000000","object":"/lib/\u001blibm.so.6"`},
	{pctl.Event{Kind: pctl.KindHit, TID: 4250, Symbol: "malloc", Object: "/lib/libc.so.6", Addr: 0x1234, Hits: 17},
		"tid 4250 hit malloc+0 in libc.so.6 (hit 17)",
		`"event":"hit","tid":4250,"symbol":"malloc","addr":"0x1234","object":"/lib/libc.so.6","hits":17`},
	{pctl.Event{Kind: pctl.KindHit, TID: 4250, Addr: 0x1234, Hits: 1}, "tid 4250 hit 0x1234 (hit 1)",
		`"event":"hit","tid":4250,"addr":"0x1234","hits":1`},
	{pctl.Event{Kind: pctl.KindBreakEnd, Symbol: "hot", Offset: 4, Addr: 0x1234, Hits: 2, Err: errors.New("gone")},
		"breakpoint hot+4 ended: gone",
		`"event":"break-end","symbol":"hot","offset":4,"addr":"0x1234","hits":2,"reason":"gone"`},
	{pctl.Event{Kind: pctl.KindThreadStart, TID: 4251}, "tid 4251 started", `"event":"thread-start","tid":4251`},
	{pctl.Event{Kind: pctl.KindSignal, TID: 4251, Signal: 10}, "tid 4251 received signal 10 (user defined signal 1)",
		`"event":"signal","tid":4251,"signal":10`},
	{pctl.Event{Kind: pctl.KindUndead, Exited: true, Code: 3}, "exited with status 3", `"event":"undead","status":3`},
	{pctl.Event{Kind: pctl.KindUndead, Exited: true}, "exited with status 0", `"event":"undead","status":0`},
	{pctl.Event{Kind: pctl.KindUndead, Signal: 9}, "killed by signal 9 (killed)", `"event":"undead","signal":9`},
	{pctl.Event{Kind: pctl.KindLost, Err: errors.New("odd")}, "lost: odd", `"event":"lost","reason":"odd"`},
	{pctl.Event{Kind: pctl.KindReleased, Mode: "running"}, "released, running", `"event":"released","mode":"running"`},
	{pctl.Event{Kind: pctl.KindReleased, Mode: "stopped", Threads: 1}, "released, stopped (1 thread when it wakes)",
		`"event":"released","threads":1,"mode":"stopped"`},
	{pctl.Event{Kind: pctl.KindReleased, Mode: "stopped", Threads: 2}, "released, stopped (2 threads when they wake)",
		`"event":"released","threads":2,"mode":"stopped"`},
}

func TestEventLines(t *testing.T) {
	for _, tt := range printed {
		e := tt.event
		e.PID, e.Time = 4242, when
		want := "pid 4242: " + tt.line + "\n"
		if got := string(text{}.event(nil, &record{Event: e})); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEventJSON(t *testing.T) {
	for _, tt := range printed {
		e := tt.event
		e.PID, e.Time = 4242, when
		want := `{"time":"2026-01-02T03:04:05.000000067Z","pid":4242,` + tt.fields + "}\n"
		got := string(jsonLines{}.event(nil, &record{Event: e}))
		if got != want {
			t.Errorf("got  %s want %s", got, want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("not JSON: %s", got)
		}
	}
}

func TestSkippedHits(t *testing.T) {
	r := &record{Event: pctl.Event{PID: 1, Kind: pctl.KindHit, TID: 2, Addr: 3, Hits: 9}, skipped: 5}
	got := string(text{}.event(nil, r))
	want := "pid 1: 5 hits not printed: the output is slower than they come\npid 1: tid 2 hit 0x3 (hit 9)\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(jsonLines{}.event(nil, r)); !strings.Contains(got, `"skipped":5`) {
		t.Errorf("JSON %s", got)
	}
}

func TestCounts(t *testing.T) {
	rows := []count{
		{pid: 4242, where: pctl.Where{Symbol: "malloc"}, addrs: []uint64{0x7f00}, hits: 1234567},
		{pid: 77, where: pctl.Where{Object: "p.so", Symbol: "f", Offset: 2}},
	}
	want := "" +
		"   pid     hits  address  breakpoint\n" +
		"  4242  1234567   0x7f00  malloc\n" +
		"    77        0        -  p.so`f+0x2\n"
	if got := string(text{}.counts(nil, rows)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := string(jsonLines{}.counts(nil, rows)); !strings.Contains(got, "\"event\":\"breakpoint\",\"addr\":\"0x7f00\",\"hits\":1234567,\"where\":\"malloc\"}\n") {
		t.Errorf("JSON %s", got)
	}
}

// TestOutputOrder checks that everything put arrives, in order, and that a
// writer that blocks delays no target.
func TestOutputOrder(t *testing.T) {
	w := &gate{open: make(chan struct{})}
	o := newOutput(w, text{}, func(err error) { t.Error(err) })
	var want strings.Builder
	const n = 3 * queued
	accepted := 0
	for i := range n {
		r := &record{Event: pctl.Event{PID: i, Kind: pctl.KindContinued}}
		if i%2 == 0 {
			o.put(r)
		} else if !o.offer(r) {
			continue
		}
		accepted++
		want.Write(text{}.event(nil, r))
	}
	if accepted == n {
		t.Errorf("all %d records were accepted although they are not read", n)
	}
	close(w.open)
	o.close()
	if err := o.wait(); err != nil {
		t.Fatal(err)
	}
	if w.got.String() != want.String() {
		t.Errorf("%d bytes arrived, want %d, or in another order", w.got.Len(), want.Len())
	}
}

// gate is a writer that waits until it is opened.
type gate struct {
	open chan struct{}
	got  strings.Builder
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.got.Write(p)
}

func TestOutputFails(t *testing.T) {
	failed := make(chan error, 10)
	o := newOutput(failing{}, text{}, func(err error) { failed <- err })
	for range 10 {
		o.put(&record{Event: pctl.Event{PID: 1, Kind: pctl.KindContinued}})
	}
	o.close()
	if err := o.wait(); !errors.Is(err, errFull) {
		t.Errorf("wait: %v", err)
	}
	if len(failed) != 1 {
		t.Errorf("told of %d errors, want 1", len(failed))
	}
}

var errFull = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// readerAfter is a reader that has something once a channel is closed.
type readerAfter struct {
	begin <-chan struct{}
	io.Reader
}

func (r readerAfter) Read(b []byte) (int, error) {
	<-r.begin
	return r.Reader.Read(b)
}

// TestPromptTakesOneLine checks that the input after the line is left for
// others.
func TestPromptTakesOneLine(t *testing.T) {
	in := strings.NewReader("go\nfor the command\n")
	asked := make(chan struct{})
	p := prompt{in: readerAfter{asked, in}}
	first, again := p.line(), p.line()
	close(asked) // earlier, the first line might be read before the second wait for it
	<-first
	<-again
	if left := in.Len(); left != len("for the command\n") {
		t.Errorf("%d bytes left", left)
	}
	<-p.line()
	<-p.line() // end of input
	<-p.line()
}
