package main

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// interruptions is the row of system calls that return EINTR because of a sampler, in a target that
// makes every kind of blocking call.
func interruptions(ctx context.Context, l *lab, t *target) ([]row, error) {
	tools, err := l.samplers(ctx, 999)
	if err != nil {
		return nil, err
	}
	window := l.window(500*time.Millisecond, 4*time.Second)
	cs := noTool(func(ctx context.Context) (float64, error) {
		before := t.page.EINTR()
		err := sleep(ctx, window)
		return float64(t.page.EINTR() - before), err
	}, each(tools, func(x sampler) measure {
		return func(ctx context.Context) (float64, error) {
			before := t.page.EINTR()
			end, err := x.do(ctx, strconv.Itoa(t.pid))
			if err == nil {
				err = errors.Join(sleep(ctx, settle+window), end())
			}
			return float64(t.page.EINTR() - before), err
		}
	}))
	return []row{{
		Unit: count, Series: interleave(ctx, l.repeats, cs), Goals: []goal{{None: true}},
	}}, nil
}
