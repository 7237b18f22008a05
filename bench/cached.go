package main

import (
	"context"
	"flag"
	"testing"
	"time"

	"ptools/pctl"
)

// cachedGrab is the row of a read-only grab and release of a process that is in the cache.
func cachedGrab(ctx context.Context, l *lab, t *target) {
	s := pctl.NewSession(nil)
	defer s.Close()
	grab := func() error {
		p, err := s.Grab(ctx, t.pid, &pctl.GrabOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		return p.Close()
	}
	check(grab())
	testing.Init()
	check(flag.Set("test.benchtime", l.window(200*time.Millisecond, time.Second).String()))
	var allocations []float64
	times := interleave(ctx, l.repeats, []contender{{"pctl", ours, "", func(context.Context) float64 {
		var failed error
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := grab(); err != nil {
					failed = err
					return
				}
			}
		})
		check(failed)
		allocations = append(allocations, float64(r.AllocsPerOp()))
		return float64(r.T.Nanoseconds()) / float64(r.N) / 1e9
	}}})
	l.add(row{Unit: seconds, Series: times, Goals: []goal{{AtMost: 2e-6}}},
		row{Name: "allocations", Unit: count, Note: "one is the handle",
			Series: []series{{Tool: "pctl", Role: ours, Values: allocations}}, Goals: []goal{{AtMost: 1}}})
}
