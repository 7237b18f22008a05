package main

import (
	"context"
	"strconv"
	"time"
)

// passes are the rows of two threads on one processor that pass a byte to each other, which switches
// threads as often as possible. They show the cost of each switch under a profiler.
func passes(ctx context.Context, l *lab, t *target) {
	var tools []sampler
	for _, rate := range []int{99, 999} {
		argv := l.psample(ctx, rate)
		stops := with(argv[:len(argv)-1], "--timers", "off", "-p")
		hz := ", " + strconv.Itoa(rate) + " Hz"
		tools = append(tools,
			sampler{toolTimers + hz, ours, "", untilInterrupted(argv...)},
			sampler{toolStops + hz, ours, "", untilInterrupted(stops...)})
	}
	tools = append(tools,
		sampler{"perf -p, 999 Hz", peer, "perf", untilInterrupted(l.perfRecord(999)...)},
		sampler{"perf -a, 999 Hz", peer, "perf", l.perfEverywhere(999)})
	s := &sandwich{t: t, window: l.window(500*time.Millisecond, 2*time.Second)}
	rates := map[string][]float64{}
	cs := each(s.contenders(tools), func(ctx context.Context, c contender) float64 {
		v := c.do(ctx)
		rates[c.tool] = append(rates[c.tool], s.rate)
		return v
	})
	slower := row{Name: "slowdown", Unit: factor, Series: interleave(ctx, l.repeats, cs)}
	for _, rate := range []string{", 99 Hz", ", 999 Hz"} {
		slower.Goals = append(slower.Goals, goal{Tool: toolTimers + rate, AtMost: 1.05})
	}
	speed := row{Name: "passes", Unit: perSecond}
	for _, x := range slower.Series {
		speed.Series = append(speed.Series, series{x.Tool, x.Role, rates[x.Tool], x.Note})
	}
	l.add(speed, slower)
}

// perfEverywhere returns a function that starts a perf of all processes.
func (l *lab) perfEverywhere(rate int) func(context.Context, string) func() error {
	argv := l.perfRecord(rate)
	argv[len(argv)-1] = "-a"
	return func(ctx context.Context, _ string) func() error { return must(launch(ctx, argv...)).interrupt }
}
