package main

import (
	"context"
	"errors"
	"strconv"
	"syscall"
	"time"
)

// attaches is the row of the time that it takes to attach to a process and to let it go at once.
func attaches(threads int) trial {
	return on(idle(threads), func(ctx context.Context, l *lab, t *target) ([]row, error) {
		pgrab, err := l.tool(ctx, "pgrab")
		if err != nil {
			return nil, err
		}
		pid := strconv.Itoa(t.pid)
		cs := []contender{
			{"strace", peer, "strace", func(ctx context.Context) (float64, error) { return straceOnce(ctx, pid) }},
			{"gdb", peer, "gdb", wall(with(gdb(), pid)...)},
			{"pgrab", ours, "", wall(pgrab, "-s", "none", "-t", "0", "-p", pid)},
		}
		return []row{{
			Unit: seconds, Series: interleave(ctx, l.repeats, cs),
			Goals: []goal{{Peers: []string{"strace"}, AtMost: 1.2}},
		}}, nil
	})
}

// straceOnce interrupts strace as soon as it says that it has attached.
func straceOnce(ctx context.Context, pid string) (float64, error) {
	t0 := time.Now()
	b, err := launch(ctx, "strace", "-f", "-e", "trace=none", "-p", pid)
	if err != nil {
		return 0, err
	}
	err = errors.Join(b.says(ctx, " attached"), b.end(syscall.SIGINT))
	return time.Since(t0).Seconds(), err
}
