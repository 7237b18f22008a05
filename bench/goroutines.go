package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"
)

// goWaiting starts a Go program with one goroutine that computes and n that wait.
func goWaiting(n int) starter { return cTarget("gomix.go", "-t", strconv.Itoa(n)) }

// goroutineDumps is the row of the time in which all goroutines of a Go program are printed with their stacks, from the start of the tool to its
// end. dlv stops the program meanwhile.
func goroutineDumps(n int, goals ...goal) trial {
	return on(goWaiting(n), func(ctx context.Context, l *lab, t *target) {
		pgrab := l.tool(ctx, "pgrab")
		tools := []contender{{"pgrab -w", ours, "", func(ctx context.Context) float64 {
			r := must(finish(ctx, pgrab, "-w", "-p", strconv.Itoa(t.pid)))
			if want := fmt.Appendf(nil, "%d goroutines, chan receive", n); !bytes.Contains(r.out, want) {
				fail("it does not show %d goroutines", n)
			}
			return r.wall.Seconds()
		}}}
		if n <= 10000 { // more take it minutes
			tools = append(tools, contender{"dlv", peer, "dlv", func(ctx context.Context) float64 {
				r := must(finish(ctx, "sh", "-c", `printf 'goroutines -t\nquit\nn\n' | dlv attach "$0" --allow-non-terminal-interactive=true`, strconv.Itoa(t.pid)))
				if shown := bytes.Count(r.out, []byte("  Goroutine ")); shown < n {
					fail("it shows %d of %d goroutines", shown, n)
				}
				return r.wall.Seconds()
			}})
		}
		l.add(row{Unit: seconds, Goals: goals, Series: interleave(ctx, min(l.repeats, 3), tools)})
	})
}

// goroutineSlowdown is the row of how much longer a Go program takes for its work while its goroutines are read once a second. Seconds
// with and without a read take turns: the speed of a virtual machine changes by more than is to be seen here, but not within seconds.
func goroutineSlowdown(n int, limit float64) trial {
	return on(goWaiting(n), func(ctx context.Context, l *lab, t *target) {
		pgrab := l.tool(ctx, "pgrab")
		s := &sandwich{t: t, window: time.Second}
		read := func(ctx context.Context) float64 {
			done := make(chan error, 1)
			go func() { // ended and awaited by during
				_, err := finish(context.WithoutCancel(ctx), pgrab, "-w", "-p", strconv.Itoa(t.pid))
				done <- err
			}()
			return during(func() error { return <-done }, func() float64 { return t.rate(ctx, s.window) })
		}
		l.add(row{Unit: factor, Goals: []goal{{AtMost: limit}}, Series: interleave(ctx, 10*l.repeats, noTool(s.between(s.alone), []contender{
			{"pgrab -w each second", ours, "", s.between(read)}}))})
	})
}
