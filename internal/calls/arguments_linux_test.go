package calls

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"

	"ptools/internal/ptest"
)

// lines has the target work once, and returns what it says of its calls.
func lines(target *ptest.Target) []string {
	fmt.Fprintln(target.Stdin, "go")
	var all []string
	for {
		line := target.Line()
		if line == "end" {
			return all
		}
		all = append(all, line)
	}
}

// texts returns the calls that were reported, as the targets write them.
func texts(w *Watch) []string {
	var all []string
	w.Reports(func(c *Call) {
		text := c.Name + ": " + c.Args
		if c.Result != "" {
			text += " = " + c.Result
		}
		all = append(all, text)
	})
	return all
}

// compareLines compares what was reported with what the target says.
func compareLines(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("reported %s\n the target %s", g, w)
		}
	}
}

// TestArguments compares arguments and results with what the targets say of them.
func TestArguments(t *testing.T) {
	for name, program := range map[string]string{
		"C++ -O0":          ptest.BuildC(t, "testdata/zoo.cc", "-g", "-O0"),
		"C++ -O2":          ptest.BuildC(t, "testdata/zoo.cc", "-g", "-O2"),
		"C++ -O2 -no-pie":  ptest.BuildC(t, "testdata/zoo.cc", "-gdwarf-4", "-O2", "-no-pie"),
		"Go":               ptest.BuildGo(t, "testdata/gozoo.go"),
		"Go without optim": ptest.BuildGo(t, "testdata/gozoo.go", "-gcflags=-N -l"),
	} {
		t.Run(name, func(t *testing.T) {
			target := ptest.Start(t, program)
			target.Ready()
			names := []string{"ints", "flags", "colors", "texts", "pairs", "mixes", "doubles", "floaty", "bigs", "makes", "pointers", "nothing", "strings", "byvalue", "classes", "many", "walk"}
			if strings.HasPrefix(name, "Go") {
				names = []string{"main.ints", "main.texts", "main.dynamic", "main.structs", "main.floats", "main.arrays", "main.blank", "main.(*point).walk", "main.point.value", "main.generic*", "main.many", "main.deferred", "main.safe", "main.*.put", "main.*.set",
					"main.makes*.func1", "main.eleven", "main.twice", "main.called"}
			}
			w := report(t, target.PID, path.Base(program), CallReports{Each: true, Values: true}, names...)
			for i := range w.Targets {
				if err := w.Targets[i].Err; err != nil {
					t.Errorf("%s: %v", w.Targets[i].Name, err)
				}
			}
			w.Begin()
			want := lines(target)
			w.End()
			compareLines(t, texts(w), want)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if _, state := target.Finish(); !state.Success() {
				t.Errorf("the target has ended with %v", state)
			}
		})
	}
}

// TestConditions: the calls that are counted are those that meet the condition, by what the target says of its calls.
func TestConditions(t *testing.T) {
	programs := map[bool]string{
		false: ptest.BuildC(t, "testdata/zoo.cc", "-g", "-O2"),
		true:  ptest.BuildGo(t, "testdata/gozoo.go"),
	}
	targets := map[bool]*ptest.Target{}
	cases := []struct {
		pattern string
		calls   uint64
	}{
		{"ints(a == -1)", 1},
		{"ints(a != -1)", 0},
		{"ints(a < 0 && b > 3g && c >= -3 && c <= -3 && d > 9223372036854775807 && !(e > 0))", 1},
		{"ints(f == 65535 && g == -7 && h == -8 && i == 0xff && j == -10)", 1},
		{"ints(h > 0 || j == 10)", 0},
		{"ints(h > 0 || j == -10)", 1},
		{"ints(-2 < a && 0 > a && a < b && c > j)", 1},
		{"ints(g % 4 == -3 && h % 8 == 0 && f % 1000 == 535 && $6 % 2)", 1},
		{"ints(g % 4 == 1 || h % 8)", 0},
		{"flags(yes && !no && letter == 120)", 1},
		{"colors(c == RED && s == LARGE)", 1},
		{"colors(c == BLUE)", 0},
		{`texts(s == "read only")`, 1},
		{`texts(s == "read onl")`, 0},
		{`texts(s == "read only ")`, 0},
		{`texts(s != "read only")`, 1},
		{`texts(none == "")`, 1},
		{"texts(none == nil)", 1},
		{"texts($1 != 0)", 2},
		{"pairs(p.b == -2 && q->a == 3 && r.b == 4)", 1},
		{"bigs(n == 5)", 1},
		{`strings(s == "short" && v == "view" && p == "a string that is too long for its object")`, 1},
		{`strings(s == "shorts")`, 0},
		{`byvalue(s == "a string that is too long for its object")`, 1},
		{"classes(d.first == 1 && d.second == 2)", 1},
		{"many(p.a == 1 && last == 9 && $9 == 9)", 1},
		{"walk(n->id < 0)", 1},
		{"walk(n->next == 0)", 1},
		{"walk(n->next != 0 && n->next->kind == 200 && n->next->in.deep == 70)", 1},
		{`walk(n->name == "second" || n->id == -5)`, 2},
		{"walk(!(n->id < 0))", 1}, // memory at nil cannot be read
		{"main.ints(a == -1 && b < 0 && c == 65535 && e && f == 7 && g == 120 && i == -9)", 1},
		{`main.texts(s == "hello" && empty == "" && b.len == 5 && n.cap == 3)`, 1},
		{`main.texts(s == "hellO")`, 0},
		{"main.structs(p.X == 3 && q.Y == 4 && s.b == 2)", 1},
		{"main.generic*(n > 8)", 1},
		{`main.many(k == 11 && s == "last")`, 1},
		{"main.(*point).walk(p.X == 3 && n == 5)", 1},
	}
	var watches []*Watch
	for _, c := range cases {
		isGo := strings.HasPrefix(c.pattern, "main.")
		target := targets[isGo]
		if target == nil {
			target = ptest.Start(t, programs[isGo])
			target.Ready()
			lines(target)
			targets[isGo] = target
		}
		w := report(t, target.PID, path.Base(programs[isGo]), CallReports{}, c.pattern)
		w.Begin()
		watches = append(watches, w)
	}
	for _, target := range targets {
		lines(target)
	}
	var closing sync.WaitGroup
	room := make(chan bool, 8) // each takes a thread
	for i, c := range cases {
		w := watches[i]
		w.End()
		n := uint64(0)
		for i := range w.Targets {
			var s Stats
			if !w.Read(i, &s) {
				t.Errorf("%s: %v", c.pattern, w.Targets[i].Err)
			}
			n += s.Calls
		}
		if n != c.calls {
			t.Errorf("%s: %d calls, want %d", c.pattern, n, c.calls)
		}
		room <- true
		closing.Go(func() {
			w.Close()
			<-room
		})
	}
	closing.Wait()
}

// TestConditionErrors: what is said of a condition that means nothing.
func TestConditionErrors(t *testing.T) {
	program := ptest.BuildC(t, "testdata/zoo.cc", "-g", "-O2")
	target := ptest.Start(t, program)
	target.Ready()
	p, err := OpenProcess(target.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for text, want := range map[string]string{
		"ints(size > 5)":                "no argument is named size, but a, b, c, d, e, f, g, h, i, j",
		"ints($11 > 5)":                 "no argument $11: there are 10",
		"ints(a > 5.5)":                 "only whole numbers are compared",
		"ints(a > 5000000000)":          "a has 4 bytes, and never the value that it is compared with",
		"ints(b > -1)":                  "b is never negative",
		"ints(b < 0)":                   "b is never negative",
		"ints(c < 9223372036854775808)": "c has 8 bytes with a sign, and never the value that it is compared with",
		"ints(a > d)":                   "a and d cannot be compared: one has a sign, and the other has 8 bytes and none",
		"ints(a == )":                   "an argument or a number is missing at its end",
		"ints(a == 5 b)":                `"b" is not expected there`,
		"ints((a == 5)":                 "", // no condition, and no name
		"ints(5 == 5)":                  "a comparison is of an argument, as in size > 1m",
		"doubles(x > 5)":                "x is no integer, pointer or text",
		`doubles(n == "text")`:          "n is no text",
		`texts(s > "text")`:             "texts are compared by == and != only",
		"pairs(p.c == 5)":               "p has no member c, but a, b",
		"pairs(p == 5)":                 "p is no integer, pointer or text",
		"walk(n->next->nexts == nil)":   "n.next has no member nexts, but id, name, next, kind, in",
	} {
		got := ""
		pattern, err := ParsePattern("a.out`" + text)
		if err == nil {
			var s *Selection
			if s, err = p.Select([]Pattern{pattern}, false); err == nil {
				err = s.describe(&Spec{})
			}
		}
		if err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"f(int)", "ns::g(std::vector<int> const&, A&&)", "h(A<1>)", "Box::operator==(Box const&)", "(anonymous namespace)::f()", "net/http.(*conn).serve"} {
		if p, err := ParsePattern(text); err != nil || p.Condition != nil {
			t.Errorf("%s has a condition: %v", text, err)
		}
	}
}

// TestStacks: the stack of each call, and of one through a tail call.
func TestStacks(t *testing.T) {
	for name, c := range map[string][2]string{
		"C++": {ptest.BuildC(t, "testdata/zoo.cc", "-g", "-O2"), "walk calls main"},
		"Go":  {ptest.BuildGo(t, "testdata/gozoo.go"), "main.blank main.main runtime.main"},
	} {
		target := ptest.Start(t, c[0])
		target.Ready()
		want := strings.Fields(c[1])
		w := report(t, target.PID, path.Base(c[0]), CallReports{Each: true, Stack: true}, want[0])
		w.Begin()
		lines(target)
		w.End()
		n := 0
		w.Reports(func(call *Call) {
			n++
			var names []string
			for _, f := range call.Stack {
				names = append(names, f.Func)
			}
			if got := strings.Join(names, " "); !strings.HasPrefix(strings.ReplaceAll(got, "()", ""), c[1]) || call.Cut != "" {
				t.Errorf("%s: stack %s, cut %q", name, got, call.Cut)
			}
		})
		if n == 0 {
			t.Errorf("%s: no calls", name)
		}
	}
}
