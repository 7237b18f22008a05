package main

import (
	"context"
	"strconv"
	"syscall"
	"time"
)

// attaches is the row of the time that it takes to attach to a process and to let it go at once.
func attaches(threads int) func(context.Context, *lab) ([]row, error) {
	return func(ctx context.Context, l *lab) ([]row, error) {
		t, err := l.idle(ctx, threads)
		if err != nil {
			return nil, err
		}
		defer t.stop()
		pgrab, err := l.tool(ctx, "pgrab")
		if err != nil {
			return nil, err
		}
		pid := strconv.Itoa(t.pid)
		whole := func(argv ...string) func(context.Context) (float64, error) {
			return func(ctx context.Context) (float64, error) {
				r, err := finish(ctx, argv...)
				if err != nil {
					return 0, err
				}
				return r.wall.Seconds(), nil
			}
		}
		cs := []contender{
			{"strace", peer, "strace", func(ctx context.Context) (float64, error) { return straceOnce(ctx, pid) }},
			{"gdb", peer, "gdb", whole(with(gdb(), pid)...)},
			{"pgrab", ours, "", whole(pgrab, "-s", "none", "-t", "0", "-p", pid)},
		}
		return []row{{
			Unit: seconds, Series: interleave(ctx, l.repeats, cs),
			Goals: []goal{{Peers: []string{"strace"}, AtMost: 1.2}},
		}}, nil
	}
}

// straceOnce interrupts strace as soon as it says that it has attached.
func straceOnce(ctx context.Context, pid string) (float64, error) {
	t0 := time.Now()
	b, err := launch(ctx, "strace", "-f", "-e", "trace=none", "-p", pid)
	if err != nil {
		return 0, err
	}
	err = b.says(ctx, " attached")
	if endErr := b.end(syscall.SIGINT); err == nil {
		err = endErr
	}
	return time.Since(t0).Seconds(), err
}
