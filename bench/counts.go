package main

import (
	"context"

	"ptools/pctl"
)

// counts is the row of hits that stop no thread. It compares a kernel uprobe that
// counts with a breakpoint without a handler, which should be so many times faster.
func counts(f hot, atLeast float64) trial {
	return func(ctx context.Context, l *lab) {
		b := newHitBench(ctx, l, f, 1)
		probe := "uprobe:" + b.argv[0] + ":" + b.f.symbol
		r := row{Unit: perSecond}
		r.Series = interleave(ctx, l.repeats, []contender{
			{"no tool", none, "", b.free},
			{"bpftrace", peer, "bpftrace", b.under([]string{"bpftrace", "-e", probe + " { @ = count(); }", "-p"})},
			{"pctl, no handler", ours, "", func(ctx context.Context) float64 { return b.grabbed(ctx, pctl.TrapAuto, nil) }},
		})
		r.Goals = []goal{{Peers: []string{"bpftrace"}, AtLeast: atLeast}}
		l.add(r)
	}
}
