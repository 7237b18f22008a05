package live

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ptools/internal/profile"
)

func someSecond() *profile.Interval {
	ms := func(cpu, wall int64) profile.Values {
		return profile.Values{Samples: wall / 10, CPU: cpu * 1e6, Wall: wall * 1e6}
	}
	return &profile.Interval{
		Total: ms(1500, 3000),
		Functions: []profile.Function{
			{Name: "main", Object: "/bin/x", Total: ms(1500, 2000)},
			{Name: "work", Object: "/bin/x", Self: ms(1000, 1200), Total: ms(1000, 1200)},
			{Name: "init", Object: "/bin/x", Self: ms(300, 300), Total: ms(300, 300)},
			{Name: "init", Object: "/lib/l.so", Self: ms(200, 500), Total: ms(200, 500)},
			{Name: "wait", Object: "/bin/x", Call: "[futex]", Self: ms(0, 1000), Total: ms(0, 1000)},
		},
		Threads: []profile.ThreadValues{
			{PID: 7, TID: 7, Name: "x", Values: ms(1500, 2000), Function: "work"},
			{PID: 7, TID: 8, Name: "y", Values: ms(0, 1000), Function: "wait [futex]"},
		},
		Processes: []profile.ThreadValues{{PID: 9, Name: "cc1", Values: ms(1500, 3000), Function: "work"}},
	}
}

// names returns the functions that a view of 80x24 shows, or the other text after its shares.
func names(v *View) []string {
	var list []string
	for _, l := range v.Lines(200, 24)[3:] {
		if i := strings.LastIndex(l, "%  "); i >= 0 {
			list = append(list, l[i+3:])
		}
	}
	return list
}

func TestView(t *testing.T) {
	v := &View{Title: "x (pid 7)"}
	v.Show(someSecond(), time.Second)
	want := []string{
		"x (pid 7)",
		"processor 150 %, ready 0 %, 3.0 threads on average, 300 samples in 1.0 s",
		"cpu self*     total     ready wall self     total  function",
		"  100.0 %   100.0 %     0.0 %   120.0 %   120.0 %  work",
	}
	if d := cmp.Diff(want, v.Lines(80, 24)[:4]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, test := range []struct {
		keys string
		want []string
	}{
		{"", []string{"work", "init (x)", "init (l.so)", "main"}},
		{"w", []string{"work", "init (x)", "init (l.so)", "main", "wait [futex]"}},
		{"s", []string{"work", "wait [futex]", "init (l.so)", "init (x)", "main"}},
		{"ss", []string{"init (l.so)", "init (x)", "main", "wait [futex]", "work"}},
		{"1/INIT\r", []string{"init (x)", "init (l.so)"}},
		{Escape, []string{"work", "init (x)", "init (l.so)", "main", "wait [futex]"}},
		{Down + Down, []string{"init (l.so)", "main", "wait [futex]"}},
		{PageDown, []string{"wait [futex]"}},
		{Up, []string{"main", "wait [futex]"}},
		{Home + "/q\x7fw", []string{"work", "wait [futex]"}},
		{Escape + "w", []string{"work", "init (x)", "init (l.so)", "main"}},
		{"t", []string{"      7  x                work"}},
	} {
		if v.Keys(test.keys, 20) {
			t.Errorf("%q quits", test.keys)
		}
		if d := cmp.Diff(test.want, names(v)); d != "" {
			t.Errorf("%q (-want +got):\n%s", test.keys, d)
		}
	}
	v.Keys("t", 20)
	if v.Subject != Functions {
		t.Error("without a tree there are processes")
	}
	v.Last = Processes
	v.Keys("tt", 20)
	if d := cmp.Diff([]string{"      9  cc1              work"}, names(v)); d != "" {
		t.Errorf("processes (-want +got):\n%s", d)
	}
	v.Keys("tt", 20)
	v.Keys(" ", 20)
	v.Show(&profile.Interval{}, time.Second)
	if len(names(v)) != 1 || !strings.Contains(v.Lines(80, 24)[0], "[paused]") {
		t.Errorf("paused: %q", v.Lines(80, 24))
	}
	foot := func() string { return v.Lines(200, 24)[23] }
	if v.Keys("\x1a", 20); !strings.Contains(foot(), "not stopped") {
		t.Errorf("^Z: %q", foot())
	}
	if v.Keys(" ", 20); strings.Contains(foot(), "not stopped") {
		t.Errorf("the next key: %q", foot())
	}
	for _, quit := range []string{"q", "\x03", "/abc\x03", "?q"} {
		if !(&View{}).Keys(quit, 20) {
			t.Errorf("%q does not quit", quit)
		}
	}
}

// TestIdle: of a process that waits, what waits is shown without being asked for, the longest first. On a narrow terminal
// there is room for names.
func TestIdle(t *testing.T) {
	v := &View{}
	v.Show(&profile.Interval{
		Total: profile.Values{Wall: 3e9, CPU: 1e5},
		Functions: []profile.Function{
			{Name: "accept", Self: profile.Values{Wall: 1e9}, Total: profile.Values{Wall: 1e9}},
			{Name: "poll", Self: profile.Values{Wall: 2e9, CPU: 1e5}, Total: profile.Values{Wall: 2e9, CPU: 1e5}},
		},
	}, time.Second)
	if d := cmp.Diff([]string{"poll", "accept"}, names(v)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if foot := v.Lines(80, 24)[23]; !strings.Contains(foot, "nothing uses the processor") {
		t.Errorf("foot %q", foot)
	}
	if line := v.Lines(30, 24)[3]; line != "  200.0 %  poll" {
		t.Errorf("line %q", line)
	}
}

// TestLines: for any size, there are as many lines as the terminal has, none longer than its width.
func TestLines(t *testing.T) {
	in := someSecond()
	for i := range 300 {
		in.Functions = append(in.Functions, profile.Function{Name: strings.Repeat("名", i), Self: profile.Values{CPU: 1}, Total: profile.Values{CPU: 1}})
	}
	for _, keys := range []string{"", "?", "t", "/x", PageDown} {
		for _, size := range [][2]int{{80, 24}, {200, 60}, {1, 1}, {0, 0}, {30, 3}, {5, 4}} {
			v := &View{Title: strings.Repeat("T", 500)}
			v.Show(in, time.Second)
			v.Keys(keys, size[1])
			lines := v.Lines(size[0], size[1])
			if len(lines) != size[1] {
				t.Errorf("%q: %d lines on %d", keys, len(lines), size[1])
			}
			for _, l := range lines {
				if utf8.RuneCountInString(l) > size[0] {
					t.Errorf("%q: %d characters on %d", keys, utf8.RuneCountInString(l), size[0])
				}
			}
		}
	}
}

// FuzzKeys: a terminal may send anything.
func FuzzKeys(f *testing.F) {
	f.Add("/\x1b[", 3)
	f.Add("\xff\x1b\x1bO", -1)
	f.Add("\x1bOAq", -1)
	f.Fuzz(func(t *testing.T, sent string, page int) {
		v := &View{}
		v.Show(someSecond(), time.Second)
		v.Keys(sent, page)
		if lines := v.Lines(40, 10); len(lines) != 10 {
			t.Errorf("%d lines", len(lines))
		}
	})
}

// TestSortKeys: each key that the help names sorts by what it says.
func TestSortKeys(t *testing.T) {
	for key, want := range map[string]Order{"1": ByCPU, "2": ByWall, "3": BySamples, "4": ByReady} {
		v := &View{Order: ByName}
		if v.Keys(key, 10); v.Order != want {
			t.Errorf("%s sorts by %s", key, orderNames[v.Order])
		}
	}
}
