package main

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// manyProcesses are the rows of one sampler for 50 processes of 10 waiting threads.
func manyProcesses(ctx context.Context, l *lab) {
	const n = 50
	var pids []string
	for range n {
		t := idle(10)(ctx, l)
		defer t.stop()
		pids = append(pids, strconv.Itoa(t.pid))
	}
	psample := l.psample(ctx, 99)
	list := strings.Join(pids, ",")
	window := l.window(time.Second, 5*time.Second)
	r := row{Name: "CPU of the sampler", Unit: percent, Note: "of one CPU"}
	r.Series = interleave(ctx, l.repeats, []contender{
		{"perf dwarf", peer, "perf", cpuShare(window, with(l.perfRecord(99), list)...)},
		{"psample", ours, "", cpuShare(window, with(psample, list)...)},
	})
	rounds := row{Name: "rounds", Unit: perSecond}
	rounds.Series = interleave(ctx, l.repeats, []contender{{"psample", ours, "", roundRate(window, with(psample, list))}})
	l.add(r, rounds)
}
