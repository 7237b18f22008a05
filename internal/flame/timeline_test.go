package flame_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"ptools/internal/flame"
)

// TestTimeline: the page shows when threads ran and in which call they waited, to the microsecond.
func TestTimeline(t *testing.T) {
	t.Parallel()
	g := flame.New()
	g.Title = "times"
	g.Values = []flame.Value{{Name: "wall", Unit: flame.Nanoseconds}}
	main := g.Child(0, flame.Frame{Name: "main", Object: "/bin/p"}, nil)
	wait := g.Child(main, flame.Frame{Name: "[read]", Kind: flame.Call}, nil)
	work := g.Child(main, flame.Frame{Name: "work", Object: "/bin/p"}, nil)
	for i, name := range []string{"lazy", "busy"} {
		thread := g.Thread(flame.Thread{PID: 1, TID: i + 1, Name: name, Process: "p"})
		half := time.Duration(2-i) * 4 * time.Second // lazy waits for 8 s of 10, busy for 4
		g.Add(wait, thread, []int64{int64(half)})
		g.Add(work, thread, []int64{int64(10*time.Second - half)})
		g.Span(thread, flame.Span{Node: wait, From: 0, To: half})
		g.Span(thread, flame.Span{Node: work, From: half, To: 9 * time.Second, State: flame.Running})
		g.Span(thread, flame.Span{Node: work, From: 9 * time.Second, To: 10 * time.Second, State: flame.Ready})
	}
	b := open(t, g.HTML)
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
