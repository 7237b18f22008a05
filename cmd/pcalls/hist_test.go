package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptools/internal/calls"
	"ptools/internal/perfevent"
)

// TestHistogram: classes are drawn from the first one with a call to the last, the shortest bar too, and many empty ones in a line.
func TestHistogram(t *testing.T) {
	r := row{target: &calls.Target{Found: calls.Found{Plan: &calls.Plan{}}}, coverage: calls.Coverage{Level: calls.Timed}}
	for d, n := range map[time.Duration]uint64{0: 1, 100: 1000, 140: 400, 10000: 2, 1 << 62: 7} {
		r.stats.Buckets[perfevent.BucketOf(d)] += n
		r.stats.Returned += n
	}
	var out strings.Builder
	w := bufio.NewWriter(&out)
	writeHistogram(w, &r)
	w.Flush()
	want := `
       0ns .. 1ns               1 |@                                       |
          ...
      96ns .. 112ns          1000 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
     112ns .. 128ns             0 |                                        |
     128ns .. 160ns           400 |@@@@@@@@@@@@@@@@                        |
          ...
    8.19us .. 10.2us            2 |@                                       |
          ...
`
	got := "\n" + out.String()
	i := strings.LastIndex(strings.TrimSuffix(got, "\n"), "\n") // the last class begins after years
	if d := cmp.Diff(want, got[:i+1]); d != "" || !strings.HasSuffix(got[i:], "  7 |@                                       |\n") {
		t.Errorf("-want +got:\n%s%s", d, got[i:])
	}
	r.stats = calls.Stats{}
	out.Reset()
	writeHistogram(w, &r)
	if w.Flush(); out.Len() > 0 {
		t.Errorf("without a call that has ended: %s", out.String())
	}
}
