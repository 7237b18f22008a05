package calls

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestGoroutineNumbers: calls that are reported have the number of their goroutine.
func TestGoroutineNumbers(t *testing.T) {
	target := ptest.Start(t, ptest.BuildGo(t, "testdata/gokeys.go"))
	target.Ready()
	w := report(t, target.PID, "a.out", CallReports{Each: true}, "main.pay")
	w.Begin()
	all := lines(target)
	w.End()
	calls := map[uint64]int{}
	w.Reports(func(c *Call) { calls[c.Goroutine]++ })
	var want, got []string
	for _, line := range all {
		if f := strings.Split(line, "|"); f[0] == "goroutine" {
			want = append(want, f[1]+" "+f[2])
		}
	}
	for number, n := range calls {
		got = append(got, fmt.Sprint(number, n))
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("calls of %q, want %q", got, want)
	}
}
