package main

import (
	"context"
	"os"
	"strconv"
	"time"
)

// stopSlowdowns are the rows of psample without timers: how much longer the target takes, and how much
// processor time the sampler itself uses meanwhile.
func stopSlowdowns(busy, waiting, rate int) trial {
	return on(busyIdle(busy, waiting), func(ctx context.Context, l *lab, t *target) {
		l.costs(ctx, t, rate, l.window(500*time.Millisecond, 2*time.Second), nil)
	})
}

// crowd are the same rows for 10,000 threads of which two work. The window includes the first look.
func crowd(ctx context.Context, l *lab, t *target) {
	l.costs(ctx, t, 99, l.window(3*time.Second, 5*time.Second), []goal{{Tool: toolTimers, AtMost: 1.03}})
}

// costs measures both ways of psample.
func (l *lab) costs(ctx context.Context, t *target, rate int, window time.Duration, goals []goal) {
	argv := l.psample(ctx, rate)
	s := &sandwich{t: t, window: window}
	used := map[string][]float64{}
	cs := noTool(s.between(s.alone), bothWays(func(ctx context.Context, tool, timers string) float64 {
		return s.between(s.under(sampler{do: func(ctx context.Context, target string) func() error {
			b := must(launch(ctx, with(argv[:len(argv)-1], "--timers", timers, "-p", target)...))
			pid := b.cmd.Process.Pid
			started := make(chan reading, 1)
			go func() { // ends with settle, before the window does
				sleep(ctx, settle) // an interrupted run is not evaluated
				started <- read(pid)
			}()
			return func() error {
				used[tool] = append(used[tool], (<-started).share(read(pid)))
				return b.interrupt()
			}
		}}))(ctx)
	}))
	slower := row{Name: "slowdown", Unit: factor, Series: interleave(ctx, l.repeats, cs), Goals: goals}
	own := row{Name: "CPU of the sampler", Unit: percent, Note: "of one CPU"}
	for _, x := range slower.Series[1:] {
		own.Series = append(own.Series, series{x.Tool, x.Role, used[x.Tool], x.Note})
	}
	l.add(slower, own)
}

// reading is the processor time of a process at a moment.
type reading struct {
	used time.Duration
	at   time.Time
}

func read(pid int) reading { return reading{cpuTime(pid), time.Now()} }

// share returns the processor time from one reading to another, in percent of one CPU.
func (a reading) share(b reading) float64 {
	return 100 * (b.used - a.used).Seconds() / b.at.Sub(a.at).Seconds()
}

// firstLook is the row of the time until every one of 10,000 threads was looked at: from the start of
// a psample that samples for a moment to its end, the writing of the profile included. Each thread
// must be in the profile; otherwise there is no value.
func firstLook(ctx context.Context, l *lab) {
	const threads = 10000
	psample := l.tool(ctx, "psample")
	for _, x := range []struct {
		name  string
		start starter
	}{{"2 busy", busyIdle(2, threads)}, {"all idle", idle(threads)}} {
		on(x.start, func(ctx context.Context, l *lab, t *target) {
			cs := bothWays(func(ctx context.Context, _, timers string) float64 {
				return l.look(ctx, t, threads, psample, "-q", "-F", "99", "-t", "10ms", "--timers", timers)
			})
			l.add(row{Name: x.name, Unit: seconds, Series: interleave(ctx, l.repeats, cs),
				Goals: []goal{{Tool: toolTimers, AtMost: 0.5}, {Tool: toolStops, AtMost: 0.5}}})
		})(ctx, l)
	}
}

// look lets psample look at all threads of a target at least once and returns how long that takes.
func (l *lab) look(ctx context.Context, t *target, threads int, argv ...string) float64 {
	out := l.path("look.folded")
	r := must(finish(ctx, append(argv, "-O", "folded", "--value", "samples", "-o", out, "-p", strconv.Itoa(t.pid))...))
	var seen float64
	for _, s := range parseFolded(must(os.ReadFile(out))) {
		seen += s.count
	}
	if seen < float64(threads) {
		fail("psample looked %.0f times at %d threads", seen, threads)
	}
	return r.wall.Seconds()
}
