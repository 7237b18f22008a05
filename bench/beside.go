package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// beside is the row of a real program, whose truth is not known. Its value is the largest difference in
// the share of processor time, in points, among the ten hottest user functions of a perf record -a in
// the same window. That perf samples ten times as often as the contenders. Processor time is that of
// both modes; time in the kernel belongs to the function in user mode that called it, for perf as for
// psample. A perf -a at psample's rate is a contender too: its difference is chance.
func beside(p program) trial {
	return func(ctx context.Context, l *lab) {
		need("perf")
		p.on(ctx, l, func(s *stage) { l.besidePerf(ctx, s) })
	}
}

func (l *lab) besidePerf(ctx context.Context, s *stage) {
	window := l.window(3*time.Second, 10*time.Second)
	tools := slices.DeleteFunc(l.spotters(ctx, 99, window), func(x spotter) bool { return x.tool == "perf -p" }) // a timer for each thread is another load
	named := newPlaces()
	compare := func(ctx context.Context, x spotter) differences { return l.compare(ctx, s.pids, named, x, window) }
	l.biases(ctx, tools, window, compare, goal{Tool: toolTimers, AtMost: 2})
}

// differences are, in points, the share that a profile gives to a function less the true share.
type differences map[string]float64

// biases are two rows: of the largest difference in a profile, and of the largest of the medians of
// all repeats. In the medians chance has gone and a bias remains.
func (l *lab) biases(ctx context.Context, tools []spotter, window time.Duration,
	compare func(context.Context, spotter) differences, goals ...goal) {
	all := map[string][]differences{}
	cs := each(tools, func(ctx context.Context, x spotter) float64 {
		d := compare(ctx, x)
		all[x.tool] = append(all[x.tool], d)
		_, worst := d.worst()
		return math.Abs(worst)
	})
	worst := row{Name: "of a profile", Unit: points, Note: "profiles of " + window.String()}
	worst.Series = interleave(ctx, l.repeats, cs)
	bias := row{Name: "of the medians", Unit: points, Goals: goals}
	for i, x := range worst.Series {
		bias.Series = append(bias.Series, series{Tool: x.Tool, Role: x.Role, Note: x.Note})
		if d := all[x.Tool]; len(d) > 0 {
			name, value := medians(d).worst()
			bias.Series[i].Values = []float64{math.Abs(value)}
			fmt.Fprintf(l.log, "\n   %s: %+.1f %s", x.Tool, value, name)
		}
	}
	fmt.Fprintln(l.log)
	l.add(worst, bias)
}

// compare lets a tool and a faster perf profile at the same time. It returns the difference, in points,
// at each of perf's ten hottest functions.
func (l *lab) compare(ctx context.Context, pids []int, named *places, x spotter, window time.Duration) differences {
	const rate = 997
	var mine, theirs []spot
	reference := make(chan error, 1)
	go func() { // ends with the window; received below
		reference <- attempt(func() { theirs = l.perfSpots(ctx, pids, rate, window, "-a") })
	}()
	err := attempt(func() { mine = x.do(ctx, pids) })
	check(errors.Join(err, <-reference))
	if len(mine) == 0 || len(theirs) == 0 {
		fail("%s saw %d places, perf %d", x.tool, len(mine), len(theirs))
	}
	ours, perfs := named.shares(mine), named.shares(theirs)
	delete(perfs, "") // no function
	hottest := slices.SortedFunc(maps.Keys(perfs), func(a, b string) int { return cmp.Or(cmp.Compare(perfs[b], perfs[a]), cmp.Compare(a, b)) })
	d := differences{}
	for _, name := range hottest[:min(10, len(hottest))] {
		d[name] = 100 * (ours[name] - perfs[name])
	}
	return d
}

// medians returns the median of each function. A function need not be in all repeats.
func medians(repeats []differences) differences {
	values := map[string][]float64{}
	for _, d := range repeats {
		for name, v := range d {
			values[name] = append(values[name], v)
		}
	}
	m := differences{}
	for name, v := range values {
		m[name] = median(v)
	}
	return m
}

// worst returns the function with the largest difference, and the difference.
func (d differences) worst() (worst string, value float64) {
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if math.Abs(d[name]) > math.Abs(value) {
			worst, value = name, d[name]
		}
	}
	return worst, value
}
