package main

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// interruptions is the row of system calls that return EINTR because of a sampler, in a target that
// makes every kind of blocking call.
func interruptions(ctx context.Context, l *lab, t *target) {
	tools := l.samplers(ctx, 999)
	window := l.window(500*time.Millisecond, 4*time.Second)
	cs := noTool(func(ctx context.Context) float64 {
		before := t.page.EINTR()
		check(sleep(ctx, window))
		return float64(t.page.EINTR() - before)
	}, each(tools, func(ctx context.Context, x sampler) float64 {
		before := t.page.EINTR()
		end := x.do(ctx, strconv.Itoa(t.pid))
		check(errors.Join(sleep(ctx, settle+window), end()))
		return float64(t.page.EINTR() - before)
	}))
	l.add(row{
		Unit: count, Series: interleave(ctx, l.repeats, cs), Goals: []goal{{None: true}},
	})
}
