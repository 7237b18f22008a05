package main

import (
	"context"
	"strconv"
	"time"
)

// interruptions is the row of system calls that return EINTR because of a sampler, in a target that
// makes every kind of blocking call.
func interruptions(ctx context.Context, l *lab) ([]row, error) {
	t, err := l.startC(ctx, "blockers.c")
	if err != nil {
		return nil, err
	}
	defer t.stop()
	tools, err := l.samplers(ctx, 999)
	if err != nil {
		return nil, err
	}
	window := l.window(500*time.Millisecond, 4*time.Second)
	observe := func(ctx context.Context) (float64, error) {
		before := t.page.eintr()
		if err := sleep(ctx, window); err != nil {
			return 0, err
		}
		return float64(t.page.eintr() - before), nil
	}
	cs := []contender{{"no tool", none, "", observe}}
	for _, x := range tools {
		cs = append(cs, contender{x.tool, x.role, x.program, func(ctx context.Context) (float64, error) {
			before := t.page.eintr()
			end, err := x.start(ctx, strconv.Itoa(t.pid))
			if err != nil {
				return 0, err
			}
			err = sleep(ctx, settle+window)
			if endErr := end(); err == nil {
				err = endErr
			}
			return float64(t.page.eintr() - before), err
		}})
	}
	return []row{{
		Unit: count, Series: interleave(ctx, l.repeats, cs), Goals: []goal{{None: true}},
	}}, nil
}
