package main

import (
	"context"
	"strconv"
	"time"
)

// sampler samples a process until it is told to end.
type sampler = competitor[func(ctx context.Context, pid string) (end func() error)]

// samplers returns the tools that sample at that rate.
func (l *lab) samplers(ctx context.Context, rate int) []sampler {
	return []sampler{
		{"perf dwarf", peer, "perf", untilInterrupted(l.perfRecord(rate)...)},
		{"eu-stack loop", peer, "eu-stack", stackLoop},
		{"naive ptrace in C", peer, "", untilInterrupted(l.c(ctx, "naive.c"), strconv.Itoa(rate))},
		{"psample", ours, "", untilInterrupted(l.psample(ctx, rate)...)},
	}
}

// untilInterrupted returns a function that starts a tool whose arguments end with the pid.
func untilInterrupted(argv ...string) func(context.Context, string) func() error {
	return func(ctx context.Context, pid string) func() error {
		return must(launch(ctx, with(argv, pid)...)).interrupt
	}
}

// stackLoop runs eu-stack again and again. It waits for the last one: if that were killed, it would
// leave a SIGSTOP behind.
func stackLoop(ctx context.Context, pid string) func() error {
	enough := make(chan struct{})
	done := make(chan error, 1)
	go func() { // ended and awaited by the function that is returned
		for {
			select {
			case <-enough:
				done <- nil
				return
			default:
			}
			if _, err := finish(ctx, "eu-stack", "-p", pid); err != nil {
				done <- err
				<-enough
				return
			}
		}
	}()
	return func() error { close(enough); return <-done }
}

// settle is how long a tool may take to start before it is observed. The cost of starting, with
// every processor busy and symbols to be read, is not measured here.
const settle = time.Second

// slowdowns is the row of how much longer the target takes for its work: its rate without a tool,
// just before and just after, divided by its rate with the tool.
func slowdowns(busy, waiting, rate int, limit float64) trial {
	return on(busyIdle(busy, waiting), func(ctx context.Context, l *lab, t *target) {
		tools := l.samplers(ctx, rate)
		s := &sandwich{t: t, window: l.window(500*time.Millisecond, 2*time.Second)}
		l.add(row{
			Unit: factor, Series: interleave(ctx, l.repeats, s.contenders(tools)), Goals: []goal{{AtMost: limit}},
		})
	})
}

// sandwich compares windows with a tool with the windows without one around them.
type sandwich struct {
	t      *target
	window time.Duration
	before float64 // the rate of the last window without a tool; 0: none yet
	rate   float64 // the last measured rate: with a tool, or without if that is the contender
}

// contenders are the target without a tool, and with each.
func (s *sandwich) contenders(tools []sampler) []contender {
	return noTool(s.between(s.alone), each(tools, func(ctx context.Context, x sampler) float64 { return s.between(s.under(x))(ctx) }))
}

// between compares the rate, with or without a tool, to the rates around it.
func (s *sandwich) between(rate measure) measure {
	return func(ctx context.Context) float64 {
		if s.before == 0 {
			s.before = s.t.rate(ctx, s.window)
		}
		if s.rate = rate(ctx); s.rate == 0 {
			fail("the target stands still")
		}
		before := s.before
		s.before = s.t.rate(ctx, s.window)
		return (before + s.before) / 2 / s.rate
	}
}

// alone returns the rate without a tool.
func (s *sandwich) alone(ctx context.Context) float64 { return s.t.rate(ctx, s.window) }

// under returns the rate with a tool.
func (s *sandwich) under(x sampler) measure {
	return func(ctx context.Context) float64 {
		return during(x.do(ctx, strconv.Itoa(s.t.pid)), func() float64 {
			check(sleep(ctx, settle))
			return s.t.rate(ctx, s.window)
		})
	}
}
