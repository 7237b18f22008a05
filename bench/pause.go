package main

import (
	"context"
	"time"
)

// pauses is the row of the longest time that a dump stops its target: the longest gap that a
// spinning thread sees meanwhile, less the gap that it sees without a tool.
func pauses(threads int, limit time.Duration) trial {
	return on(busyIdle(1, threads-2), func(ctx context.Context, l *lab, t *target) {
		tools := l.dumpers(ctx)
		cs := noTool(func(ctx context.Context) float64 {
			return gap(ctx, t, func() { check(sleep(ctx, 200*time.Millisecond)) })
		}, each(tools, func(ctx context.Context, d dumper) float64 {
			return gap(ctx, t, func() { d.do(ctx, t, threads) })
		}))
		r := row{
			Unit: seconds, Note: "less the median without a tool",
			Series: interleave(ctx, l.repeats, cs), Goals: []goal{{AtMost: limit.Seconds()}},
		}
		subtract(r.Series)
		l.add(r)
	})
}

// gap returns the longest gap of the target's spinning thread during something.
func gap(ctx context.Context, t *target, during func()) float64 {
	t.page.TakeGap()
	during()
	// A thread that was stopped until the very end has not noticed the gap yet.
	w := t.page.Work()
	check(await(ctx, "the target to run on", func() bool { return t.page.Work() > w+1 }))
	return t.page.TakeGap().Seconds()
}

// subtract subtracts the median of the first series, which is without a tool, from the others.
func subtract(all []series) {
	base := median(all[0].Values)
	for _, s := range all[1:] {
		for i := range s.Values {
			s.Values[i] = max(0, s.Values[i]-base)
		}
	}
}
