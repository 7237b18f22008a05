package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// sums is the row of the difference, in percent, between the processor time of a whole profile and
// what the process used in the same time by its own clock. The profile says when it began and how long
// it is, so start-up and writing do not count.
func sums(source string, args ...string) trial {
	return on(cTarget(source, args...), func(ctx context.Context, l *lab, t *target) {
		psample := l.tool(ctx, "psample")
		window := l.window(3*time.Second, 10*time.Second)
		cs := bothWays(func(ctx context.Context, tool, timers string) float64 {
			v := l.sum(ctx, t, psample, "-F", "99", "-t", window.String(), "--timers", timers)
			fmt.Fprintf(l.log, "\n   %s: %+.2f %%", tool, v)
			return math.Abs(v)
		})
		r := row{Unit: percent, Note: "profiles of " + window.String(), Series: interleave(ctx, l.repeats, cs)}
		r.Goals = []goal{{Tool: toolTimers, AtMost: 1}, {Tool: toolStops, AtMost: 1}}
		fmt.Fprintln(l.log)
		l.add(r)
	})
}

// sum profiles once.
func (l *lab) sum(ctx context.Context, t *target, argv ...string) float64 {
	c := watchClock(t.pid)
	var p *document
	err := attempt(func() { p = l.psampleJSON(ctx, append(argv, "-p", strconv.Itoa(t.pid))...) })
	c.stop()
	check(err)
	used := must(c.between(p.Start, p.Start.Add(p.Duration)))
	if used == 0 {
		fail("the target has used no processor time")
	}
	return 100 * (p.cpu()/float64(used) - 1)
}

// clockWatch reads the processor time of a process again and again.
type clockWatch struct {
	times  []time.Time
	used   []time.Duration
	enough chan struct{}
	done   chan struct{}
}

// watchClock begins to watch. stop must be called.
func watchClock(pid int) *clockWatch {
	c := &clockWatch{enough: make(chan struct{}), done: make(chan struct{})}
	go func() { // stop ends and awaits it
		defer close(c.done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		c.read(pid)
		for {
			select {
			case <-tick.C:
				c.read(pid)
			case <-c.enough:
				c.read(pid)
				return
			}
		}
	}()
	return c
}

func (c *clockWatch) read(pid int) {
	if used, err := processTime(pid); err == nil { // otherwise it has ended, which between notices
		c.times, c.used = append(c.times, time.Now()), append(c.used, used)
	}
}

func (c *clockWatch) stop() {
	close(c.enough)
	<-c.done
}

// between returns the processor time from one moment to another.
func (c *clockWatch) between(from, to time.Time) (time.Duration, error) {
	a, err := c.at(from)
	if err != nil {
		return 0, err
	}
	b, err := c.at(to)
	return b - a, err
}

// at interpolates between two readings.
func (c *clockWatch) at(moment time.Time) (time.Duration, error) {
	i, found := slices.BinarySearchFunc(c.times, moment, time.Time.Compare)
	if found {
		return c.used[i], nil
	}
	if i == 0 || i == len(c.times) {
		return 0, fmt.Errorf("the profile says that it was taken at %v, which is not so", moment)
	}
	part := moment.Sub(c.times[i-1]).Seconds() / c.times[i].Sub(c.times[i-1]).Seconds()
	return c.used[i-1] + time.Duration(part*float64(c.used[i]-c.used[i-1])), nil
}
