package main

import (
	"context"
	"io"
	"regexp"
	"slices"
	"testing"
)

// TestInterleave shows the order of the measurements, and that a contender that fails is left out.
func TestInterleave(t *testing.T) {
	var order []string
	measure := func(name string, fails int) measure {
		return func(context.Context) float64 {
			order = append(order, name)
			if fails--; fails == 0 {
				fail("broken")
			}
			return 1
		}
	}
	got := interleave(context.Background(), 3, []contender{
		{"a", peer, "", measure("a", 0)},
		{"b", peer, "", measure("b", 2)},
		{"c", peer, "no-such-program-anywhere", measure("c", 0)},
	})
	if want := []string{"a", "b", "a", "b", "a"}; !slices.Equal(order, want) {
		t.Errorf("measured %v, want %v", order, want)
	}
	if len(got[0].Values) != 3 || len(got[1].Values) != 1 || got[1].Note != "broken" || got[2].Note == "" {
		t.Errorf("%+v", got)
	}
}

func TestInterleaveEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	interleave(ctx, 100, []contender{{"a", peer, "", func(context.Context) float64 {
		n++
		cancel()
		return 0
	}}})
	if n != 1 {
		t.Errorf("%d measurements after the end", n-1)
	}
}

// TestAttempt shows that a failure ends the measurement, and that another panic is not taken for a
// failure.
func TestAttempt(t *testing.T) {
	went := false
	err := attempt(func() { fail("no %s", "luck"); went = true })
	if err == nil || err.Error() != "no luck" || went {
		t.Errorf("%v, went on: %v", err, went)
	}
	if v := 0; attempt(func() { v = must(7, nil) }) != nil || v != 7 {
		t.Errorf("%d of a success", v)
	}
	defer func() {
		if recover() == nil {
			t.Error("a bug is taken for a failure")
		}
	}()
	attempt(func() { panic("a bug") })
}

// TestNames finds two experiments with one name, which -run could not distinguish.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range experiments {
		if seen[x.name] {
			t.Errorf("two experiments are called %q", x.name)
		}
		seen[x.name] = true
	}
	if got := choose(experiments, regexp.MustCompile("^symbolized dump, 1")); len(got) != 3 {
		t.Errorf("%d dumps", len(got))
	}
}

func TestParse(t *testing.T) {
	c, err := parse([]string{"-quick", "-repeats", "7", "-run", "dump"}, io.Discard)
	if err != nil || !c.quick || c.repeats != 7 || !c.rows.MatchString("a dump") {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range [][]string{{"-repeats", "-1"}, {"-run", "("}, {"word"}, {"-nonsense"}} {
		if _, err := parse(bad, io.Discard); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
