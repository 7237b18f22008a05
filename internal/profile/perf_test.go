package profile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var perfHead = regexp.MustCompile(`^(\S+) (\d+)/(\d+) (\d+\.\d{6}): (\d+) (\S+):$`)
var perfLevel = regexp.MustCompile(`^\t *[0-9a-f]+ (.*) \((.*)\)$`)

// TestPerf: the periods of a stack's events add up to its count, and the events are in the order of time.
func TestPerf(t *testing.T) {
	for _, v := range []Value{Samples, CPU, Wall} {
		p := fakeProfile(straight)
		p.Timeline = true
		s := p.spaces[0]
		c := s.Cell(p.Thread(4, 12, "late"), s.Stack([]Addr{{PC: 0x3001, Kind: Exact}, {PC: 0x1003, Kind: Return}}))
		for i := range 5 {
			at := time.Duration(2*i) * time.Second
			s.AddDuring(c, Values{Samples: 3, CPU: 2_345_678, Wall: 7_654_321}, at, at+time.Second, true)
		}
		got, last, late := make(map[string]int64), "", 0
		var stack []string
		var period int64
		for line := range strings.Lines(write(t, p, Perf, &Options{Value: v})) {
			line = strings.TrimSuffix(line, "\n")
			if m := perfHead.FindStringSubmatch(line); m != nil {
				fmt.Sscan(m[5], &period)
				if m[4] < last {
					t.Errorf("%s after %s", m[4], last)
				}
				last = m[4]
				if m[3] == "12" {
					late++
				}
			} else if m := perfLevel.FindStringSubmatch(line); m != nil {
				stack = append(stack, m[1])
			} else if line == "" {
				slices.Reverse(stack)
				got[strings.Join(stack, ";")] += period
				stack = nil
			} else {
				t.Errorf("line %q", line)
			}
		}
		want := make(map[string]int64)
		for line := range strings.Lines(write(t, p, Folded, &Options{Value: v})) {
			i := strings.LastIndexByte(line, ' ')
			name := strings.ReplaceAll(strings.ReplaceAll(line[:i], "a:b", "a;b"), " (libblind.so)", "")
			var n int64
			fmt.Sscan(line[i:], &n)
			want[name] += n
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v (-want +got):\n%s", v, d)
		}
		if n := map[Value]int{Samples: 15, CPU: 12, Wall: 4}[v]; late != n {
			t.Errorf("%v: %d events of the stack with times, want %d", v, late, n)
		}
		if v != Wall && !strings.HasPrefix(last, "1700000008.") { // it was there until the ninth second
			t.Errorf("%v: the last event is at %s", v, last)
		}
	}
}
