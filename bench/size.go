package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// sizes are the rows of cost against size: rounds a second that psample reaches of the 999 that it is
// asked for, and the slowdown at 99 Hz where something runs.
func sizes(ctx context.Context, l *lab) ([]row, error) {
	var rows []row
	for _, threads := range []int{1, 10, 100, 1000, 10000} {
		for _, busy := range []int{0, 2} {
			got, err := l.size(ctx, threads, busy)
			if err != nil {
				return rows, err
			}
			rows = append(rows, got...)
		}
	}
	return rows, nil
}

// size makes the rows of one process. The first thread waits too.
func (l *lab) size(ctx context.Context, threads, busy int) ([]row, error) {
	t, err := l.busyIdle(ctx, busy, threads-1)
	if err != nil {
		return nil, err
	}
	defer t.stop()
	window := l.window(500*time.Millisecond, 2*time.Second)
	if threads >= 1000 {
		window += 2 * time.Second // the first round of many threads is a long one
	}
	repeats := l.repeats
	if l.quick {
		repeats = 1
	}
	name := fmt.Sprintf("%d idle + %d busy", threads, busy)
	fast, err := l.psample(ctx, 999)
	if err != nil {
		return nil, err
	}
	rounds := contender{"psample", ours, "", roundRate(window, with(fast, strconv.Itoa(t.pid)))}
	rows := []row{{
		Name: name + ", rounds at 999 Hz", Unit: perSecond, Series: interleave(ctx, repeats, []contender{rounds}),
	}}
	if busy == 0 {
		return rows, nil
	}
	s := &sandwich{t: t, window: window}
	slow, err := l.psample(ctx, 99)
	x := sampler{start: untilInterrupted(slow...)}
	return append(rows, row{
		Name: name + ", slowdown at 99 Hz", Unit: factor,
		Series: interleave(ctx, repeats, []contender{
			{"no tool", none, "", s.between(nil)},
			{"psample", ours, "", s.between(&x)},
		}),
	}), err
}

// closing is the line that psample prints at the end.
var closing = regexp.MustCompile(`(\d+) rounds`)

// roundRate returns the measurement of how many rounds a second a psample gets done.
func roundRate(window time.Duration, psample []string) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		r, err := finish(ctx, with(psample, "-t", window.String())...)
		if err != nil {
			return 0, err
		}
		m := closing.FindSubmatch(r.err)
		if m == nil {
			return 0, fmt.Errorf("no count of rounds in %q", r.err)
		}
		n, err := strconv.ParseFloat(string(m[1]), 64)
		return n / window.Seconds(), err
	}
}
