package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// sizes are the rows of cost by size: the rounds a second that psample reaches of the 999 it is asked
// for, and, if something runs, the slowdown at 99 Hz.
func sizes(ctx context.Context, l *lab) {
	for _, threads := range []int{1, 10, 100, 1000, 10000} {
		for _, busy := range []int{0, 2} {
			l.size(ctx, threads, busy)
		}
	}
}

// size makes the rows of one process. The first thread waits too.
func (l *lab) size(ctx context.Context, threads, busy int) {
	t := busyIdle(busy, threads-1)(ctx, l)
	defer t.stop()
	window := l.window(500*time.Millisecond, 2*time.Second)
	if threads >= 1000 {
		window += 2 * time.Second // the first round of many threads takes long
	}
	repeats := l.repeats
	if l.quick {
		repeats = 1
	}
	name := fmt.Sprintf("%d idle + %d busy", threads, busy)
	fast := l.psample(ctx, 999)
	rounds := contender{"psample", ours, "", roundRate(window, with(fast, strconv.Itoa(t.pid)))}
	l.add(row{
		Name: name + ", rounds at 999 Hz", Unit: perSecond, Series: interleave(ctx, repeats, []contender{rounds}),
	})
	if busy == 0 {
		return
	}
	s := &sandwich{t: t, window: window}
	tools := []sampler{{"psample", ours, "", untilInterrupted(l.psample(ctx, 99)...)}}
	l.add(row{
		Name: name + ", slowdown at 99 Hz", Unit: factor, Series: interleave(ctx, repeats, s.contenders(tools)),
	})
}

// roundRate returns the measurement of how many rounds a second a psample does.
func roundRate(window time.Duration, psample []string) measure {
	return func(ctx context.Context) float64 {
		return closing(ctx, "rounds", with(psample, "-t", window.String())) / window.Seconds()
	}
}

// closing runs a psample that ends by itself, and returns a number of the line that it prints at the end.
func closing(ctx context.Context, what string, psample []string) float64 {
	return countOf(must(finish(ctx, psample...)), what)
}

// countOf returns a number of the line that psample prints at the end.
func countOf(r *result, what string) float64 {
	m := regexp.MustCompile(`(\d+) ` + what).FindSubmatch(r.err)
	if m == nil {
		fail("no count of %s in %q", what, r.err)
	}
	return must(strconv.ParseFloat(string(m[1]), 64))
}
