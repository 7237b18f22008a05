package main

import (
	"context"
	"time"
)

// pauses is the row of the longest time that a dump holds up its target: the longest gap that a
// spinning thread sees meanwhile, less what it sees without a tool.
func pauses(threads int, limit time.Duration) func(context.Context, *lab) ([]row, error) {
	return func(ctx context.Context, l *lab) ([]row, error) {
		t, err := l.busyIdle(ctx, 1, threads-2)
		if err != nil {
			return nil, err
		}
		defer t.stop()
		tools, err := l.dumpers(ctx)
		if err != nil {
			return nil, err
		}
		cs := []contender{{"no tool", none, "", func(ctx context.Context) (float64, error) {
			return gap(ctx, t, func() error { return sleep(ctx, 200*time.Millisecond) })
		}}}
		for _, d := range tools {
			cs = append(cs, contender{d.tool, d.role, d.program, func(ctx context.Context) (float64, error) {
				return gap(ctx, t, func() error {
					_, err := d.dump(ctx, t, threads)
					return err
				})
			}})
		}
		r := row{
			Unit: seconds, Note: "less the median without a tool",
			Series: interleave(ctx, l.repeats, cs), Goals: []goal{{AtMost: limit.Seconds()}},
		}
		subtract(r.Series)
		return []row{r}, nil
	}
}

// gap returns the longest gap of the target's spinning thread during something.
func gap(ctx context.Context, t *target, during func() error) (float64, error) {
	t.page.takeGap()
	if err := during(); err != nil {
		return 0, err
	}
	// A thread that stands still until the very end has yet to notice.
	w := t.page.work()
	if err := await(ctx, "the target to run on", func() bool { return t.page.work() > w+1 }); err != nil {
		return 0, err
	}
	return t.page.takeGap().Seconds(), nil
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
