package profile

import (
	"fmt"
	"strings"
	"testing"

	"ptools/internal/fit"
)

// TestScreen: on a terminal the text fills no more than the screen, says how much was left out, and keeps both ends of long
// names. The zero Screen has everything.
func TestScreen(t *testing.T) {
	p := New()
	p.Duration, p.Period, p.Rounds = 1e9, 1e7, 100
	s := p.Space(4, "/bin/app", fakeCode{})
	for th := range 9 {
		id := p.Thread(4, 4+th, fmt.Sprintf("worker-%d", th))
		for i := range 40 {
			name := fmt.Sprintf("f%02d%sEnd%02d_[k]", i, strings.Repeat("x", 100), i)
			s.Add(s.Cell(id, s.Stack([]Addr{p.Note(name)})), Values{Samples: 1, CPU: int64(1e6 * (th + 1) * (41 - i)), Wall: 1e8, Ready: 5e7})
		}
	}
	for _, size := range [][2]int{{80, 20}, {200, 56}, {40, 12}, {20, 30}} {
		for _, o := range []Options{{Value: CPU}, {Value: CPU, OnStack: true}, {Value: CPU, Threads: true}} {
			o.Screen = Screen{size[0], size[1]}
			text := write(t, p, Text, &o)
			lines := 0
			for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
				lines += max((fit.Width(l)+size[0]-1)/size[0], 1)
			}
			if size[0] >= 80 && lines > size[1] {
				t.Errorf("%v %+v: %d lines:\n%s", size, o, lines, text)
			}
			cut := size[0] == 80
			if cut && (!strings.Contains(text, " more (") || !strings.Contains(text, "d00_[k]\n") || strings.Contains(text, "  ready ") == o.OnStack) {
				t.Errorf("%v %+v:\n%s", size, o, text)
			}
		}
	}
	text := write(t, p, Text, &Options{Value: CPU})
	if n := strings.Count(text, "\n"); n != 5+40 || strings.Contains(text, "…") || strings.Contains(text, "  ready  ") {
		t.Errorf("in a file %d lines:\n%s", n, text)
	}
	threads := write(t, p, Text, &Options{Value: CPU, Threads: true})
	if !strings.Contains(threads, "\n\nworker-8 (tid 12): 20.00 % of cpu, 11.11 % of wall\n") || strings.Index(threads, "worker-8") > strings.Index(threads, "worker-7") {
		t.Errorf("threads:\n%s", threads)
	}
}
