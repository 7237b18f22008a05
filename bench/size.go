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
	psample, err := l.tool(ctx, "psample")
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, threads := range []int{1, 10, 100, 1000, 10000} {
		for _, busy := range []int{0, 2} {
			got, err := l.size(ctx, psample, threads, busy)
			if err != nil {
				return rows, err
			}
			rows = append(rows, got...)
		}
	}
	return rows, nil
}

// size makes the rows of one process. The first thread waits too.
func (l *lab) size(ctx context.Context, psample string, threads, busy int) ([]row, error) {
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
	rows := []row{{Name: name + ", rounds at 999 Hz", Unit: perSecond,
		Series: interleave(ctx, repeats, []contender{{"psample", ours, "", func(ctx context.Context) (float64, error) {
			return roundRate(ctx, psample, strconv.Itoa(t.pid), 999, window)
		}}})}}
	if busy == 0 {
		return rows, nil
	}
	s := &sandwich{t: t, window: window}
	x := sampler{start: untilInterrupted(psample, "-q", "-F", "99", "-O", "folded", "-o", "/dev/null", "-p")}
	return append(rows, row{Name: name + ", slowdown at 99 Hz", Unit: factor,
		Series: interleave(ctx, repeats, []contender{{"no tool", none, "", s.between(nil)}, {"psample", ours, "", s.between(&x)}})}), nil
}

// closing is the line that psample prints at the end.
var closing = regexp.MustCompile(`(\d+) rounds`)

// roundRate returns how many rounds a second psample gets done.
func roundRate(ctx context.Context, psample, pids string, rate int, window time.Duration) (float64, error) {
	r, err := finish(ctx, psample, "-F", strconv.Itoa(rate), "-t", window.String(), "-O", "folded", "-o", "/dev/null", "-p", pids)
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
