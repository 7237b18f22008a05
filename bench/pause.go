package main

import (
	"context"
	"time"
)

// pauses is the row of the longest time that a dump holds up its target: the longest gap that a
// spinning thread sees meanwhile, less what it sees without a tool.
func pauses(threads int, limit time.Duration) trial {
	return on(busyIdle(1, threads-2), func(ctx context.Context, l *lab, t *target) ([]row, error) {
		tools, err := l.dumpers(ctx)
		if err != nil {
			return nil, err
		}
		cs := noTool(func(ctx context.Context) (float64, error) {
			return gap(ctx, t, func() error { return sleep(ctx, 200*time.Millisecond) })
		}, each(tools, func(d dumper) measure {
			return func(ctx context.Context) (float64, error) {
				return gap(ctx, t, func() error {
					_, err := d.do(ctx, t, threads)
					return err
				})
			}
		}))
		r := row{
			Unit: seconds, Note: "less the median without a tool",
			Series: interleave(ctx, l.repeats, cs), Goals: []goal{{AtMost: limit.Seconds()}},
		}
		subtract(r.Series)
		return []row{r}, nil
	})
}

// gap returns the longest gap of the target's spinning thread during something.
func gap(ctx context.Context, t *target, during func() error) (float64, error) {
	t.page.TakeGap()
	if err := during(); err != nil {
		return 0, err
	}
	// A thread that stands still until the very end has yet to notice.
	w := t.page.Work()
	if err := await(ctx, "the target to run on", func() bool { return t.page.Work() > w+1 }); err != nil {
		return 0, err
	}
	return t.page.TakeGap().Seconds(), nil
}

// subtract takes the median of the series without a tool, which comes first, from the others.
func subtract(all []series) {
	base := median(all[0].Values)
	for _, s := range all[1:] {
		for i := range s.Values {
			s.Values[i] = max(0, s.Values[i]-base)
		}
	}
}
