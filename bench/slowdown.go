package main

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// sampler samples a process until it is told to end.
type sampler = competitor[func(ctx context.Context, pid string) (ended func() error, err error)]

// samplers returns the tools that sample at that rate.
func (l *lab) samplers(ctx context.Context, rate int) ([]sampler, error) {
	psample, err := l.psample(ctx, rate)
	if err != nil {
		return nil, err
	}
	naive, err := l.c(ctx, "naive.c")
	return []sampler{
		{"perf dwarf", peer, "perf", untilInterrupted(l.perfRecord(rate)...)},
		{"eu-stack loop", peer, "eu-stack", stackLoop},
		{"naive ptrace in C", peer, "", untilInterrupted(naive, strconv.Itoa(rate))},
		{"psample", ours, "", untilInterrupted(psample...)},
	}, err
}

// untilInterrupted returns what starts a tool whose arguments end with the pid.
func untilInterrupted(argv ...string) func(context.Context, string) (func() error, error) {
	return func(ctx context.Context, pid string) (func() error, error) {
		b, err := launch(ctx, with(argv, pid)...)
		if err != nil {
			return nil, err
		}
		return b.interrupt, nil
	}
}

// stackLoop runs eu-stack again and again. The last one is awaited: killed, it would leave a SIGSTOP
// behind.
func stackLoop(ctx context.Context, pid string) (func() error, error) {
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
	return func() error { close(enough); return <-done }, nil
}

// settle is how long a tool may take to start before it is observed: what starting costs, with every
// processor busy and symbols to be read, is not the question here.
const settle = time.Second

// slowdowns is the row of how much longer the target takes for its work: its rate without a tool,
// just before and just after, divided by the one with it.
func slowdowns(busy, waiting, rate int, limit float64) trial {
	return on(busyIdle(busy, waiting), func(ctx context.Context, l *lab, t *target) ([]row, error) {
		tools, err := l.samplers(ctx, rate)
		if err != nil {
			return nil, err
		}
		s := &sandwich{t: t, window: l.window(500*time.Millisecond, 2*time.Second)}
		return []row{{
			Unit: factor, Series: interleave(ctx, l.repeats, s.contenders(tools)), Goals: []goal{{AtMost: limit}},
		}}, nil
	})
}

// sandwich compares windows with a tool with those without one around them.
type sandwich struct {
	t      *target
	window time.Duration
	before float64 // the rate of the last window without a tool; 0: none yet
	rate   float64 // the last measured: with a tool, or with none where that is the contender
}

// contenders are the target without a tool, and with each.
func (s *sandwich) contenders(tools []sampler) []contender {
	return noTool(s.between(nil), each(tools, func(x sampler) measure { return s.between(&x) }))
}

// between returns the measurement of a tool, or of no tool.
func (s *sandwich) between(x *sampler) measure {
	return func(ctx context.Context) (float64, error) {
		var err error
		if s.before == 0 {
			if s.before, err = s.t.rate(ctx, s.window); err != nil {
				return 0, err
			}
		}
		with, err := s.with(ctx, x)
		if err != nil {
			return 0, err
		}
		if with == 0 {
			return 0, errors.New("the target stands still")
		}
		s.rate = with
		before := s.before
		s.before, err = s.t.rate(ctx, s.window)
		return (before + s.before) / 2 / with, err
	}
}

func (s *sandwich) with(ctx context.Context, x *sampler) (rate float64, err error) {
	if x == nil {
		return s.t.rate(ctx, s.window)
	}
	end, err := x.do(ctx, strconv.Itoa(s.t.pid))
	if err != nil {
		return 0, err
	}
	return during(end, func() (float64, error) {
		if err := sleep(ctx, settle); err != nil {
			return 0, err
		}
		return s.t.rate(ctx, s.window)
	})
}
