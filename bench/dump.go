package main

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"time"
)

// dumper prints the stacks of all threads of a process, and returns how long that took. It must show that
// many threads.
type dumper = competitor[func(ctx context.Context, t *target, threads int) time.Duration]

// dumpers returns the tools that dump stacks.
func (l *lab) dumpers(ctx context.Context) []dumper {
	pgrab := l.tool(ctx, "pgrab")
	return []dumper{
		{"eu-stack", peer, "eu-stack", dump("TID ", "eu-stack", "-p")},
		{"gdb", peer, "gdb", dump("Thread ", gdb("thread apply all bt")...)},
		{"pgrab --each", ours, "", dump("tid ", pgrab, "--each", "-s", "grab", "-H", "0", "-t", "0", "-p")},
	}
}

// dump runs a tool whose arguments end with the pid, and whose output has the mark once for each thread.
func dump(mark string, argv ...string) func(context.Context, *target, int) time.Duration {
	return func(ctx context.Context, t *target, threads int) time.Duration {
		r := must(finish(ctx, with(argv, strconv.Itoa(t.pid))...))
		if n := bytes.Count(r.out, []byte(mark)); n < threads {
			fail("it shows %d of %d threads", n, threads)
		}
		return r.wall
	}
}

// dumps is the row of the time of a symbolized dump, from the start of the tool to its end.
func dumps(threads int, goals ...goal) trial {
	return on(idle(threads), func(ctx context.Context, l *lab, t *target) {
		tools := l.dumpers(ctx)
		repeats := l.repeats
		if threads >= 10000 { // the peers need minutes
			repeats = min(repeats, 3)
			if l.quick {
				tools = slices.DeleteFunc(tools, func(d dumper) bool { return d.role != ours })
			}
		}
		l.add(row{Unit: seconds, Goals: goals, Series: interleave(ctx, repeats, each(tools, func(ctx context.Context, d dumper) float64 {
			return d.do(ctx, t, threads).Seconds()
		}))})
	})
}

// idle starts a target with that many threads, all of which wait.
func idle(threads int) starter { return cTarget("idle.c", "-t", strconv.Itoa(threads-1)) } // and the first thread

// busyIdle starts a target with threads that spin and threads that wait, besides the first one.
func busyIdle(busy, waiting int) starter {
	return cTarget("busyidle.c", "-b", strconv.Itoa(busy), "-t", strconv.Itoa(waiting))
}
