package main

import (
	"context"
	"errors"
	"strconv"
	"syscall"
	"time"
)

// attaches is the row of the time to attach to a process and to let it go at once.
func attaches(threads int) trial {
	return on(idle(threads), func(ctx context.Context, l *lab, t *target) {
		pgrab := l.tool(ctx, "pgrab")
		pid := strconv.Itoa(t.pid)
		cs := []contender{
			{"strace", peer, "strace", func(ctx context.Context) float64 { return straceOnce(ctx, pid) }},
			{"gdb", peer, "gdb", wall(with(gdb(), pid)...)},
			{"pgrab", ours, "", wall(pgrab, "-s", "none", "-t", "0", "-p", pid)},
		}
		l.add(row{
			Unit: seconds, Series: interleave(ctx, l.repeats, cs),
			Goals: []goal{{Peers: []string{"strace"}, AtMost: 1.2}},
		})
	})
}

// straceOnce interrupts strace as soon as it says that it has attached.
func straceOnce(ctx context.Context, pid string) float64 {
	t0 := time.Now()
	b := must(launch(ctx, "strace", "-f", "-e", "trace=none", "-p", pid))
	check(errors.Join(b.says(ctx, " attached"), b.end(syscall.SIGINT)))
	return time.Since(t0).Seconds()
}
