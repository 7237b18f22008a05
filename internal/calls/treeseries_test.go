package calls

import (
	"testing"
	"time"
)

// TestTreeSeries: what is new of a tree is what was added since the last reading; callers of what is new are there without calls, and
// calls without a stack as they are.
func TestTreeSeries(t *testing.T) {
	of := func(name string) *Target { t := &Target{}; t.Name = name; return t }
	add := func(n *Node, calls uint64, sum, self time.Duration) {
		n.Calls, n.Returned = n.Calls+calls, n.Returned+calls
		n.Sum, n.Self = n.Sum+sum, n.Self+self
	}
	inner, idle := &Node{Target: of("inner")}, &Node{Target: of("idle")}
	outer := &Node{Target: of("outer"), Callees: []*Node{inner, idle}}
	open := &Node{Target: of("outer"), Rest: NoStack, Stats: Stats{Calls: 1}}
	var series TreeSeries
	for i, want := range []struct{ outer, inner, idle uint64 }{{3, 6, 1}, {0, 4, 0}, {2, 2, 0}, {0, 0, 0}} {
		add(outer, want.outer, 10*time.Duration(want.outer), 4*time.Duration(want.outer))
		add(inner, want.inner, 3*time.Duration(want.inner), 3*time.Duration(want.inner))
		add(idle, want.idle, time.Duration(want.idle), time.Duration(want.idle))
		made := *open
		got := map[string]Node{}
		var walk func(nodes []*Node, path string)
		walk = func(nodes []*Node, path string) {
			for _, n := range nodes {
				at := path + "/" + n.Name + string(n.Rest)
				got[at] = *n
				walk(n.Callees, at)
			}
		}
		walk(series.Since([]*Node{outer, &made}), "")
		lines := 1
		for at, n := range map[string]uint64{"/outer": want.outer, "/outer/inner": want.inner, "/outer/idle": want.idle} {
			g, ok := got[at]
			if there := n > 0 || at == "/outer" && want.inner > 0; ok != there || g.Calls != n {
				t.Errorf("reading %d: %s: there: %v, %d calls; want %v, %d", i, at, ok, g.Calls, there, n)
			}
			if ok {
				lines++
			}
		}
		if g := got["/outer"]; g.Sum != 10*time.Duration(want.outer) || g.Self != 4*time.Duration(want.outer) {
			t.Errorf("reading %d: outer took %v, %v itself", i, g.Sum, g.Self)
		}
		if got["/outerno stack"].Calls != 1 || len(got) != lines {
			t.Errorf("reading %d: %d lines", i, len(got))
		}
	}
}
