package calls

import (
	"maps"
	"testing"
)

// TestChoose: functions that take little are timed, those that take more are counted if that is possible, and none gets more than it has.
func TestChoose(t *testing.T) {
	for _, test := range []struct {
		name  string
		loads []load
		limit float64
		want  map[int]Level
	}{
		{"all fit", []load{{number: 0, timed: .1, counted: .01}, {number: 1, timed: .05, counted: .01}}, .2, map[int]Level{0: Timed, 1: Timed}},
		{"the large one is counted", []load{{number: 0, timed: .5, counted: .01}, {number: 1, timed: .05, counted: .01}}, .2, map[int]Level{0: Counted, 1: Timed}},
		{"counting is too much", []load{{number: 0, timed: 3, counted: 1}, {number: 1}}, .2, map[int]Level{0: Windowed, 1: Timed}},
		{"of the same some", []load{{number: 0, timed: .15, counted: .1}, {number: 1, timed: .15, counted: .1}}, .2, map[int]Level{0: Timed, 1: Windowed}},
		{"no more than it has", []load{{number: 0, least: Counted}, {number: 1, least: Off}}, .2, map[int]Level{0: Counted, 1: Off}},
		{"nothing is left", []load{{number: 0, timed: .1, counted: .1}, {number: 1}}, 0, map[int]Level{0: Windowed, 1: Timed}},
	} {
		if got := choose(test.loads, test.limit); !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
