package calls

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// apart makes the watch of a function whose calls are told apart and summed.
func apart(t *testing.T, target *ptest.Target, program, key, sum, pattern string) *Watch {
	t.Helper()
	return apartSpec(t, target, program, Spec{}, key, sum, pattern)
}

func apartSpec(t *testing.T, target *ptest.Target, program string, spec Spec, key, sum, pattern string) *Watch {
	t.Helper()
	var err error
	if key != "" {
		spec.By, err = ParseKey(key)
	}
	if sum != "" && err == nil {
		spec.Sum, err = ParseSum(sum)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := watchSpec(t, target.PID, path.Base(program), spec, pattern)
	for i := range w.Targets {
		if err := errors.Join(w.Targets[i].Err, w.Targets[i].Plan.Whole); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// groupLines returns the groups as the targets write them.
func groupLines(w *Watch, what string) []string {
	var all []string
	add := func(key string, s *Stats) {
		if s.Calls > 0 {
			all = append(all, fmt.Sprintf("%s|%s|%d|%d|%s", what, key, s.Calls, s.Amount.Calls, s.Amount.Total()))
		}
	}
	if w.spec.By == nil {
		for i := range w.Targets {
			var s Stats
			w.Read(i, &s)
			add("", &s)
		}
		return all
	}
	for _, g := range w.Groups() {
		add(g.Key+string(g.Rest), &g.Stats)
	}
	slices.Sort(all)
	return all
}

// TestGroups compares the calls with the same key, and sums, with what the targets have counted.
func TestGroups(t *testing.T) {
	c, goes := ptest.BuildC(t, "testdata/keys.c", "-g", "-O2", "-pthread"), ptest.BuildGo(t, "testdata/gokeys.go")
	for program, cases := range map[string][][4]string{
		c: {
			{"amount", "amount", "amount * it->kind - 3", "pay"},
			{"who", "who", "amount", "pay"},
			{"color", "it->color", "2 * (amount + 0)", "pay"},
			{"caller", "caller", "-amount", "pay"},
			{"thread", "thread", "return", "pay"},
			{"return", "return", "amount", "pay"},
			{"return both", "return", "return", "pay"},
			{"n", "", "n", "large"},
			{"u", "", "u", "large"},
			{"n * n", "", "n * n", "large"},
			{"n * -1", "", "n * -1", "large"},
			{"n + n", "", "n + n", "large"},
			{"-5 - n", "", "-5 - n", "large"},
		},
		goes: {
			{"who", "who", "amount", "main.pay"},
			{"name", "it.name", "it.ids.len", "main.pay"},
			{"goroutine", "goroutine", "amount", "main.pay"},
			{"error", "return.2", "return.1", "main.pay"},
		},
	} {
		target := ptest.Start(t, program)
		target.Ready()
		var watches []*Watch
		for _, c := range cases {
			w := apart(t, target, program, c[1], c[2], c[3])
			w.Begin()
			watches = append(watches, w)
		}
		all := lines(target)
		for i, c := range cases {
			watches[i].End()
			var want []string
			for _, line := range all {
				if strings.HasPrefix(line, c[0]+"|") {
					want = append(want, line)
				}
			}
			slices.Sort(want)
			compareLines(t, groupLines(watches[i], c[0]), want)
			if len(want) == 0 {
				t.Errorf("no %s", c[0])
			}
		}
		if _, state := target.Finish(); !state.Success() {
			t.Errorf("the target has ended with %v", state)
		}
	}
}

// TestGroupsByStack: calls are with their callers, whatever the return instruction is, and their sums and times are those of all.
func TestGroupsByStack(t *testing.T) {
	program := ptest.BuildC(t, "testdata/keys.c", "-g", "-O2", "-pthread")
	target := ptest.Start(t, program)
	target.Ready()
	w := apart(t, target, program, "stack", "-amount", "pay")
	w.Begin()
	all := lines(target)
	w.End()
	var whole Stats
	sums := map[string]*Stats{}
	for _, g := range w.Groups() {
		if g.Rest != None && g.Calls > 0 {
			t.Errorf("%d calls with %s", g.Calls, g.Rest)
		}
		if len(g.Stack) == 0 {
			continue
		}
		frames := w.Frames(g.Stack)
		if frames[0].Func != "pay" || frames[0].Offset != 0 || frames[2].Func != "pays" || g.Cut != "" {
			t.Errorf("stack %v, cut %q", frames, g.Cut)
		}
		s := sums[frames[1].Func]
		if s == nil {
			s = &Stats{}
			sums[frames[1].Func] = s
		}
		Merge(s, &g.Stats)
		Merge(&whole, &g.Stats)
	}
	for _, name := range []string{"first", "second"} {
		s := sums[name]
		if s == nil {
			t.Fatalf("no stack with %s", name)
		}
		if line := fmt.Sprintf("caller|%s|%d|%d|%s", name, s.Calls, s.Amount.Calls, s.Amount.Total()); !slices.Contains(all, line) {
			t.Errorf("the target has no %s", line)
		}
	}
	if n := len(w.groups.stacks); n != 4 { // of two callers, in the first thread and in others
		t.Errorf("%d stacks", n)
	}
	var s Stats
	if w.Read(0, &s); whole != s {
		t.Errorf("the stacks have %v, and the function %v", whole, s)
	}
}

// TestManyKeys: keys that find no room count together, and no call is lost.
func TestManyKeys(t *testing.T) {
	program := ptest.BuildC(t, "testdata/keys.c", "-g", "-O2", "-pthread")
	target := ptest.Start(t, program)
	target.Ready()
	const room = 300
	for _, key := range []string{"n", "return"} {
		w := apartSpec(t, target, program, Spec{most: room}, key, "n", "wide")
		w.Begin()
		fmt.Fprintln(target.Stdin, "wide")
		for target.Line() != "end" {
		}
		w.End()
		keys, others, sum := 0, uint64(0), int64(0)
		for _, g := range w.Groups() {
			if g.Rest == Others {
				others = g.Calls
			} else if g.Calls > 0 {
				keys++
				if g.Calls != 1 || g.Returned != 1 || g.Amount.Total().String() != g.Key {
					t.Fatalf("key %q%s: %d calls, %d returned, sum %s", g.Key, g.Rest, g.Calls, g.Returned, g.Amount.Total())
				}
			}
			sum += g.Amount.Total().Int64()
		}
		if keys != room || others != 1000-room || sum != 999*500 {
			t.Errorf("%s: %d keys, %d other calls, sum %d", key, keys, others, sum)
		}
		w.Close()
	}
}

// TestGroupsAtTheTop: a stack that ends right above the frames is known, also when its process has ended.
func TestGroupsAtTheTop(t *testing.T) {
	program := ptest.BuildC(t, "testdata/topstack.c", "-g", "-O2")
	target := ptest.Start(t, program)
	target.Ready()
	w := apart(t, target, program, "stack", "", "known")
	w.Begin()
	fmt.Fprintln(target.Stdin, "go on")
	if out, state := target.Finish(); !state.Success() {
		t.Fatalf("%v, %q", state, out)
	}
	for _, g := range w.Groups() {
		if g.Calls == 0 {
			continue
		}
		if g.Rest != None || g.Calls != 3 {
			t.Errorf("%d calls with %v", g.Calls, g.Rest)
			continue
		}
		if frames := w.Frames(g.Stack); len(frames) < 2 || frames[1].Func != "on_other" {
			t.Errorf("stack %v, cut %q", frames, g.Cut)
		}
	}
}
