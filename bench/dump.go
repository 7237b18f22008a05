package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"
)

// dumper is a tool that prints the stacks of all threads of a process.
type dumper struct {
	tool    string
	role    role
	program string
	argv    []string // the pid follows
	mark    string   // what its output has once for each thread
}

// dumpers returns the tools of that kind.
func (l *lab) dumpers(ctx context.Context) ([]dumper, error) {
	pgrab, err := l.tool(ctx, "pgrab")
	return []dumper{
		{"eu-stack", peer, "eu-stack", []string{"eu-stack", "-p"}, "TID "},
		{"gdb", peer, "gdb", gdb("thread apply all bt"), "Thread "},
		{"pgrab -w", ours, "", []string{pgrab, "-w", "-s", "grab", "-H", "0", "-t", "0", "-p"}, "tid "},
	}, err
}

// dump runs the tool, checks that it has seen every thread, and returns how long it took.
func (d *dumper) dump(ctx context.Context, t *target, threads int) (time.Duration, error) {
	r, err := finish(ctx, with(d.argv, strconv.Itoa(t.pid))...)
	if err != nil {
		return 0, err
	}
	if n := bytes.Count(r.out, []byte(d.mark)); n < threads {
		return 0, fmt.Errorf("it shows %d of %d threads", n, threads)
	}
	return r.wall, nil
}

// dumps is the row of the time that a symbolized dump takes, from the start of the tool to its end.
func dumps(threads int, limit float64) func(context.Context, *lab) ([]row, error) {
	return func(ctx context.Context, l *lab) ([]row, error) {
		t, err := l.idle(ctx, threads)
		if err != nil {
			return nil, err
		}
		defer t.stop()
		tools, err := l.dumpers(ctx)
		if err != nil {
			return nil, err
		}
		var cs []contender
		for _, d := range tools {
			cs = append(cs, contender{d.tool, d.role, d.program, func(ctx context.Context) (float64, error) {
				wall, err := d.dump(ctx, t, threads)
				return wall.Seconds(), err
			}})
		}
		return []row{{
			Unit: seconds, Series: interleave(ctx, l.repeats, cs),
			Goals: []goal{{Peers: []string{"eu-stack"}, AtMost: limit}},
		}}, nil
	}
}

// idle starts a target with that many threads, all of which wait.
func (l *lab) idle(ctx context.Context, threads int) (*target, error) {
	return l.startC(ctx, "idle.c", "-t", strconv.Itoa(threads-1)) // and the first thread
}

// busyIdle starts a target with threads that spin and threads that wait, besides the first one.
func (l *lab) busyIdle(ctx context.Context, busy, waiting int) (*target, error) {
	return l.startC(ctx, "busyidle.c", "-b", strconv.Itoa(busy), "-t", strconv.Itoa(waiting))
}

// dumpMany is the row of a process with very many threads. The peers need minutes.
func dumpMany(ctx context.Context, l *lab) ([]row, error) {
	const threads = 10000
	t, err := l.idle(ctx, threads)
	if err != nil {
		return nil, err
	}
	defer t.stop()
	tools, err := l.dumpers(ctx)
	if err != nil {
		return nil, err
	}
	var cs []contender
	for _, d := range tools {
		if l.quick && d.role != ours {
			continue
		}
		cs = append(cs, contender{d.tool, d.role, d.program, func(ctx context.Context) (float64, error) {
			wall, err := d.dump(ctx, t, threads)
			return wall.Seconds(), err
		}})
	}
	return []row{{Unit: seconds, Series: interleave(ctx, min(l.repeats, 3), cs)}}, nil
}
