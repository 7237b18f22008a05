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

// beside is the row of a real program, whose truth nobody knows: the largest difference in the share of
// processor time, in points, among the ten hottest user functions of a perf record -a in the same
// window, which samples ten times as often as the contenders. Processor time is that of both modes;
// what is spent in the kernel belongs to the function in user mode that called it, for perf as for us.
// A perf -a at the rate of ours is a contender too: what it shows is chance.
func beside(p program) func(context.Context, *lab) ([]row, error) {
	return func(ctx context.Context, l *lab) (rows []row, err error) {
		if why := missing("perf"); why != "" {
			return nil, errors.New(why)
		}
		s, err := p.on(ctx, l)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.end()) }()
		window := l.window(3*time.Second, 10*time.Second)
		tools, err := l.spotters(ctx, 99, window)
		if err != nil {
			return nil, err
		}
		named := newPlaces()
		all := map[string][]map[string]float64{}
		var cs []contender
		for _, x := range tools {
			if x.tool == "perf -p" {
				continue // a timer for each thread is another load
			}
			cs = append(cs, contender{x.tool, x.role, x.program, func(ctx context.Context) (float64, error) {
				d, err := l.compare(ctx, s.pids, named, x, window)
				if err == nil {
					all[x.tool] = append(all[x.tool], d)
				}
				return largest(slices.Collect(maps.Values(d))), err
			}})
		}
		worst := row{Name: "of a profile", Unit: points, Note: "profiles of " + window.String()}
		worst.Series = interleave(ctx, l.repeats, cs)
		bias := row{Name: "of the medians", Unit: points, Goals: []goal{{Tool: toolTimers, AtMost: 2}}}
		for i, x := range worst.Series {
			bias.Series = append(bias.Series, series{Tool: x.Tool, Role: x.Role, Note: x.Note})
			if d := all[x.Tool]; len(d) > 0 {
				name, value := worstFunction(d)
				bias.Series[i].Values = []float64{math.Abs(value)}
				fmt.Fprintf(l.log, "\n   %s: %+.1f %s", x.Tool, value, name)
			}
		}
		fmt.Fprintln(l.log)
		return []row{worst, bias}, nil
	}
}

// compare lets a tool and a faster perf profile at the same time and returns the difference, in points,
// at each of perf's ten hottest functions.
func (l *lab) compare(ctx context.Context, pids []int, named *places, x spotter, window time.Duration) (map[string]float64, error) {
	const rate = 997
	type answer struct {
		spots []spot
		err   error
	}
	reference := make(chan answer, 1)
	go func() { // ends with the window; received below
		spots, err := l.perfSpots(ctx, pids, rate, window, "-a")
		reference <- answer{spots, err}
	}()
	mine, err := x.spots(ctx, pids)
	theirs := <-reference
	if err := errors.Join(err, theirs.err); err != nil {
		return nil, err
	}
	if len(mine) == 0 || len(theirs.spots) == 0 {
		return nil, fmt.Errorf("%s saw %d places, perf %d", x.tool, len(mine), len(theirs.spots))
	}
	ours, perfs := named.shares(mine), named.shares(theirs.spots)
	delete(perfs, "") // no function
	hottest := slices.SortedFunc(maps.Keys(perfs), func(a, b string) int { return cmp.Or(cmp.Compare(perfs[b], perfs[a]), cmp.Compare(a, b)) })
	d := map[string]float64{}
	for _, name := range hottest[:min(10, len(hottest))] {
		d[name] = 100 * (ours[name] - perfs[name])
	}
	return d, nil
}

// worstFunction returns the function whose median difference is the largest, and that difference. A
// function need not be among the ten hottest every time.
func worstFunction(repeats []map[string]float64) (worst string, value float64) {
	values := map[string][]float64{}
	for _, r := range repeats {
		for name, v := range r {
			values[name] = append(values[name], v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v := median(values[name]); math.Abs(v) > math.Abs(value) {
			worst, value = name, v
		}
	}
	return worst, value
}
