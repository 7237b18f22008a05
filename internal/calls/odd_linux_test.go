package calls

import (
	"path"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// oddPrograms are builds of the programs whose arguments are passed in unusual ways.
func oddPrograms(t *testing.T) map[string]string {
	cc := func(flags ...string) string { return ptest.BuildC(t, "testdata/odd.cc", flags...) }
	return map[string]string{
		"-O0":                     cc("-g", "-O0"),
		"-O2":                     cc("-g", "-O2"),
		"DWARF 4":                 cc("-gdwarf-4", "-O0"),
		"DWARF 4, strict":         cc("-gdwarf-4", "-gstrict-dwarf", "-O0"),
		"units of types":          cc("-g", "-O0", "-fdebug-types-section"),
		"units of types, DWARF 4": cc("-gdwarf-4", "-O0", "-fdebug-types-section"),
		"Rust":                    ptest.BuildRust(t, "testdata/odd.rs", "-g"),
		"Rust -O":                 ptest.BuildRust(t, "testdata/odd.rs", "-g", "-O"),
	}
}

// TestOddArguments: what is shown of values that are passed in unusual ways is right, or unknown.
func TestOddArguments(t *testing.T) {
	for name, program := range oddPrograms(t) {
		t.Run(name, func(t *testing.T) {
			target := ptest.Start(t, program)
			target.Ready()
			names := []string{"wide", "nulls", "gap", "nothing", "moves", "couples", "simd", "vec", "makes", "elsewhere", "fills", "copies", "creates", "unites", "owns", "extends", "packed<*", "shadow", "refers", "small"}
			if strings.HasPrefix(name, "Rust") {
				names = []string{"odd::W::m", "odd::strs", "odd::text", "odd::calls::*closure*"}
			}
			w := report(t, target.PID, path.Base(program), CallReports{Each: true, Values: true}, names...)
			w.Begin()
			want := lines(target)
			w.End()
			var got [][]string
			w.Reports(func(c *Call) {
				fields := []string{c.Name}
				for _, values := range [][]Value{c.Arguments, c.Results} {
					for _, v := range values {
						fields = append(fields, v.Text)
					}
				}
				got = append(got, fields)
			})
			compareFields(t, got, want, w)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			target.Finish()
		})
	}
}

// compareFields compares the values of calls with what the target says of them. Functions that have no probe are left out.
func compareFields(t *testing.T, got [][]string, want []string, w *Watch) {
	t.Helper()
	for _, line := range want {
		fields := strings.Split(line, "\t")
		if !slices.ContainsFunc(w.Targets, func(f Target) bool { return f.Err == nil && f.Name == fields[0] }) {
			continue
		}
		if len(got) == 0 || got[0][0] != fields[0] {
			t.Errorf("no call of %s was reported, next is %q", fields[0], got)
			continue
		}
		for i, text := range got[0] {
			wanted, mayLack := "", false
			if i < len(fields) {
				wanted, mayLack = strings.CutPrefix(fields[i], "~")
			}
			if wanted == "@" && strings.HasPrefix(text, "@0x") { // it is passed by this address
				continue
			}
			if text != wanted && text != strings.TrimSuffix(wanted, " "+unknown) && !(mayLack && strings.Contains(text, unknown)) {
				t.Errorf("value %d of %s is %s, and not %s", i, fields[0], text, wanted)
			}
		}
		got = got[1:]
	}
}

// counted has a program make its calls once, and returns those of the function of a pattern, and how many could not be judged by its condition.
func counted(t *testing.T, program, pattern string) (s Stats, unread uint64) {
	t.Helper()
	target := ptest.Start(t, program)
	target.Ready()
	w := watch(t, target.PID, path.Base(program), pattern)
	w.Begin()
	lines(target)
	w.End()
	w.Read(0, &s)
	_, unread = w.Uncounted()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	target.Finish()
	return s, unread
}

// TestOddConditions: names in conditions mean what they mean in C++: the members of the class itself, and what references refer to.
func TestOddConditions(t *testing.T) {
	program := ptest.BuildC(t, "testdata/odd.cc", "-g", "-O2")
	for pattern, want := range map[string]uint64{
		"shadow(d.x == 2)": 1, "shadow(d.x == 1)": 0,
		"refers(n == 5)": 1, "refers(n != 5)": 0, `refers(t == "text")`: 1, `refers(t == "texts")`: 0,
		"small(n == 3)": 1, "gap(y == 88)": 1, "nothing(k == 3)": 1,
	} {
		if s, _ := counted(t, program, pattern); s.Calls != want {
			t.Errorf("%s: %d calls, want %d", pattern, s.Calls, want)
		}
	}
}

// TestNoTypes: where debug information has lines alone, values are words, as without it.
func TestNoTypes(t *testing.T) {
	target := ptest.Start(t, ptest.BuildC(t, "testdata/odd.cc", "-g1", "-O2"))
	target.Ready()
	w := report(t, target.PID, "odd", CallReports{Each: true, Values: true}, "small")
	w.Begin()
	lines(target)
	w.End()
	reported := 0
	w.Reports(func(c *Call) {
		if reported++; len(c.Arguments) != len(intsC) || c.Arguments[0].Text != "0x3" || c.Result != "0xfffffffd" {
			t.Errorf("small: %s = %s", c.Args, c.Result)
		}
	})
	if err := w.Close(); err != nil || reported != 1 {
		t.Errorf("%d calls, %v", reported, err)
	}
	target.Finish()
}

// TestOnlyReturn: a function that is nothing but a return ends by that, and not by a jump to another.
func TestOnlyReturn(t *testing.T) {
	s, _ := counted(t, ptest.BuildC(t, "testdata/odd.cc", "-g", "-O2", "-fcf-protection=none"), "returns")
	if s.Calls != 1 || s.Returned != 1 || s.Tails != 0 || s.Buckets[0] != 1 {
		t.Errorf("%d calls, %d returned, %d by a jump", s.Calls, s.Returned, s.Tails)
	}
}

// TestUnread: calls for whose condition memory cannot be read are not counted, and it is known how many they were.
func TestUnread(t *testing.T) {
	if s, unread := counted(t, ptest.BuildC(t, "testdata/zoo.cc", "-g", "-O2"), "walk(n->id < 0)"); s.Calls != 1 || unread != 1 {
		t.Errorf("%d calls, and %d whose condition cannot be read; there is one of each", s.Calls, unread)
	}
}

// TestEndedTypes: dynamic types of a process that has ended are read from its file.
func TestEndedTypes(t *testing.T) {
	target := ptest.Start(t, ptest.BuildGo(t, "testdata/gozoo.go"))
	target.Ready()
	w := report(t, target.PID, "gozoo", CallReports{Each: true, Values: true}, "main.dynamic")
	w.Begin()
	lines(target)
	target.Finish()
	w.End()
	for _, text := range texts(w) {
		if !strings.Contains(text, "err=*errors.errorString(") {
			t.Error(text)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
