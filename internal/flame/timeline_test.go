package flame_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"ptools/internal/flame"
)

// TestPartOfTime: with a part of the timeline in view the graph and the table show that part, and the address leads to it.
func TestPartOfTime(t *testing.T) {
	t.Parallel()
	b := open(t, times().HTML)
	b.keys("t")
	b.until("page.timeline.width > 0 && !page.timeline.wanted")
	check := func(when string, from, to float64, processor, wall, ready int64, rows string) {
		t.Helper()
		if text := b.text("#during"); from > 0 && text != fmt.Sprintf("%.2f s to %.2f s ✕", from, to) {
			t.Errorf("%s: the button says %q", when, text)
		}
		sums := value[[]int64](b, "page.model.values.filter(v => v.name != 'samples').map((v, i) => page.model.tree.totals(i)[0] / 1e6)")
		if !slices.Equal(sums, []int64{processor, wall, ready}) {
			t.Errorf("%s: %v ms", when, sums)
		}
		if got := value[string](b, "page.table.rows.map(r => page.model.rowNames[r.row] + ' ' + r.total / 1e6).join(', ')"); got != rows {
			t.Errorf("%s: rows %s", when, got)
		}
	}
	check("whole", 0, 10, 6000, 20000, 2000, "[read] 12000, work 8000, main 20000")
	value[bool](b, "void (page.timeline.show(4e6, 5e6)) || true")
	b.until("page.timeline.part && page.model !== page.all")
	check("a part", 4, 5, 1000, 2000, 0, "[read] 1000, work 1000, main 2000")
	b.keys("f")
	check("as a flame graph", 4, 5, 1000, 2000, 0, "[read] 1000, work 1000, main 2000")
	if hash := value[string](b, "location.hash"); hash != "#time=4000000-5000000" {
		t.Errorf("address %q", hash)
	}
	value[bool](b, "void (location.hash = '#time=8000000-9000000') || true")
	b.until("page.timeline.left == 8e6 && page.model.tree.totals(0)[0] == 2000e6")
	check("by the address", 8, 9, 2000, 2000, 0, "work 2000, main 2000")
	value[bool](b, "void ($('during').click()) || true")
	b.until("page.model === page.all")
	check("all again", 0, 10, 6000, 20000, 2000, "[read] 12000, work 8000, main 20000")
}

// TestTimeline: the page shows when threads ran and in which call they waited, to the microsecond.
func TestTimeline(t *testing.T) {
	t.Parallel()
	b := open(t, times().HTML)
	b.keys("t")
	b.until("page.timeline.width > 0 && !page.timeline.wanted")
	at := func(x, y float64) string {
		b.move("#times", x, y)
		return b.text("#tip")
	}
	const busy, lazy = 22 + 12, 22 + 24 + 12 // the one that ran longest comes first
	width := value[float64](b, "page.timeline.width")
	x := func(second float64) float64 { return 190 + (width-190)*second/10 }
	for _, test := range []struct {
		second, y float64
		want      string
	}{
		{2, busy, "busy (tid 2)waiting in [read], 4.00 s from 0.000000 s[read]main"},
		{5, busy, "busy (tid 2)running, 5.00 s from 4.000000 sworkmain"},
		{9.5, busy, "busy (tid 2)ready, waits for a processor, 1.00 s from 9.000000 sworkmain"},
		{5, lazy, "lazy (tid 1)waiting in [read], 8.00 s from 0.000000 s[read]main"},
	} {
		if got := at(x(test.second), test.y); got != test.want {
			t.Errorf("at %v s: %q, want %q", test.second, got, test.want)
		}
	}
	b.enter("#lanes", "+")
	if span := value[float64](b, "page.timeline.right - page.timeline.left"); span >= 10e6 {
		t.Errorf("%v us are shown", span)
	}
	b.enter("#lanes", kb.Escape)
	if span := value[float64](b, "page.timeline.right - page.timeline.left"); span != 10e6 {
		t.Errorf("%v us are shown", span)
	}
	b.enter("#search", "work")
	if got := value[[]int](b, "Array.from(page.timeline.matched)"); len(got) != 4 || got[2]+got[3]+got[1] != 1 {
		t.Errorf("nodes that match: %v", got)
	}
	b.shot("timeline-test")
	if out := b.text("#data"); !strings.Contains(out, `"timeline":[{"thread":0,"spans":[0,8000000,8,`) {
		t.Errorf("data %s", out)
	}
}

// TestLanes: processes are in the order of their births, whatever their numbers, which begin anew when they have run out.
func TestLanes(t *testing.T) {
	t.Parallel()
	g := flame.New()
	g.Title, g.Values = "lanes", []flame.Value{{Name: "wall", Unit: flame.Nanoseconds}}
	node := g.Child(0, flame.Frame{Name: "main", Object: "/bin/p"}, nil)
	for i, pid := range []int{9, 2, 3, 9} {
		thread := g.Thread(flame.Thread{PID: pid, TID: pid + i, Name: "p", Process: "p"})
		born := time.Duration(pid%9) * time.Second // 9 is the first
		g.Add(node, thread, []int64{int64(time.Second)})
		g.Span(thread, flame.Span{Node: node, From: born + time.Duration(i)*time.Millisecond, To: born + time.Second, State: flame.Running})
	}
	b := open(t, g.HTML)
	b.keys("t")
	b.until("page.timeline.width > 0")
	if got := value[[]int](b, "page.timeline.lanes.map(l => page.timeline.model.threads[l.thread].pid)"); !slices.Equal(got, []int{9, 9, 2, 3}) {
		t.Errorf("%v", got)
	}
}

// times is a profile of two threads over ten seconds, with its timeline.
func times() *flame.Graph {
	g := flame.New()
	g.Title = "times"
	g.Initial = 1
	g.Values = []flame.Value{{Name: "processor", Unit: flame.Nanoseconds}, {Name: "wall", Unit: flame.Nanoseconds}, {Name: "ready", Unit: flame.Nanoseconds}}
	main := g.Child(0, flame.Frame{Name: "main", Object: "/bin/p"}, nil)
	wait := g.Child(main, flame.Frame{Name: "[read]", Kind: flame.Call}, nil)
	work := g.Child(main, flame.Frame{Name: "work", Object: "/bin/p"}, nil)
	for i, name := range []string{"lazy", "busy"} {
		thread := g.Thread(flame.Thread{PID: 1, TID: i + 1, Name: name, Process: "p"})
		half := time.Duration(2-i) * 4 * time.Second // lazy waits for 8 s of 10, busy for 4
		const s = int64(time.Second)
		g.Add(wait, thread, []int64{0, int64(half), 0})
		g.Add(work, thread, []int64{9*s - int64(half), 10*s - int64(half), s})
		g.Span(thread, flame.Span{Node: wait, From: 0, To: half})
		g.Span(thread, flame.Span{Node: work, From: half, To: 9 * time.Second, State: flame.Running})
		g.Span(thread, flame.Span{Node: work, From: 9 * time.Second, To: 10 * time.Second, State: flame.Ready})
	}
	return g
}
