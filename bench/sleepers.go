package main

import (
	"context"
	"fmt"
	"ptools/internal/procfs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sleeper is a target whose threads sleep and wake thousands of times a second, with bounds for the
// error of a profile.
type sleeper struct {
	source  string
	kind    string
	threads int
	every   int // one round in this many is measured by the target itself
	parts   []string
	others  int      // processes that spin beside it
	tracer  []string // command line of a tracer, without the pid
	timers  float64
	stops   float64
}

// Short runs are a sixth of their thread's time, so there are six threads.
var (
	sleepSpin   = sleeper{"sleepers.c", "spin", 1, 16, []string{"spin"}, 0, nil, 1.5, 8}
	sleepSpin50 = sleeper{"sleepers.c", "spin50", 1, 16, []string{"spin"}, 0, nil, 1.5, 8}
	sleepShort  = sleeper{"sleepers.c", "short", 6, 16, parts, 0, nil, 1.5, 8}
	sleepLong   = sleeper{"sleepers.c", "long", 1, 1, parts, 0, nil, 1.5, 3}
)

func (s sleeper) golang() bool { return strings.HasSuffix(s.source, ".go") }

func (s sleeper) inGo() sleeper {
	s.source = "gosleepers.go"
	return s
}

func (s sleeper) besideOthers() sleeper {
	s.others, s.timers, s.stops = 2, 3, 2*s.stops
	return s
}

// under has the target traced, which leaves no room for another tracer.
func (s sleeper) under(tracer ...string) sleeper {
	s.tracer, s.timers, s.stops = tracer, 3, 0
	return s
}

// company starts the programs that run beside the target. end ends them.
func (s sleeper) company(ctx context.Context, l *lab, t *target) (end func()) {
	switch {
	case s.others > 0:
		return busyIdle(s.others, 0)(ctx, l).stop
	case s.tracer != nil:
		tracer := traced(ctx, t.pid, s.tracer)
		return func() { tracer.end(syscall.SIGINT) }
	}
	return func() {}
}

// traced starts a tracer and waits until the target is traced.
func traced(ctx context.Context, pid int, argv []string) *background {
	need(argv[0])
	b := must(launch(ctx, with(argv, strconv.Itoa(pid))...))
	status := fmt.Sprintf("/proc/%d/status", pid)
	if err := await(ctx, argv[0], func() bool { return field(status, "TracerPid") != "0" }); err != nil {
		b.end(syscall.SIGINT)
		check(err)
	}
	return b
}

// sleeping are the rows of a sleeper: the largest difference, in points, between the true share of
// processor time and the share that a profile gives to a function, or to everything else. Everything else
// is the kernel's work for the calls that sleep and wake, and the way there. The first row includes chance
// at 99 Hz. The second has the differences of the medians of all repeats, where only a bias remains.
//
// The threads' own clocks around the functions show how the functions' time is divided. The kernel's
// account of user mode shows how much of all time that is; in C user mode is almost only the functions.
// That account is made at ticks. The scheduler's clock would be exact. But on a virtual machine of the kind
// used here it includes 10 to 17 us for each sleep that no sample finds, neither perf's nor the tick's. For
// Go, with a runtime in user mode, the scheduler's clock is the only choice.
func sleeping(s sleeper) trial {
	start := built(s.source, nil, "-k", s.kind, "-t", strconv.Itoa(s.threads), "-e", strconv.Itoa(s.every))
	return on(start, func(ctx context.Context, l *lab, t *target) {
		defer s.company(ctx, l, t)()
		window := l.window(3*time.Second, 10*time.Second)
		tools := l.spotters(ctx, 99, window)
		named := newPlaces()
		compare := func(ctx context.Context, x spotter) differences { return s.differences(ctx, t, named, x) }
		goals := []goal{{Tool: toolTimers, AtMost: s.timers}}
		if s.stops > 0 {
			goals = append(goals, goal{Tool: toolStops, AtMost: s.stops})
		}
		l.biases(ctx, tools, window, compare, goals...)
	})
}

// differences profiles once. It returns, in points, the share of each function and of everything else
// less the true share.
func (s sleeper) differences(ctx context.Context, t *target, named *places, x spotter) differences {
	before := s.account(t)
	spots := x.do(ctx, []int{t.pid})
	truth := s.truth(before, s.account(t))
	if len(spots) == 0 {
		fail("%s saw nothing", x.tool)
	}
	d := differences{"everything else": 100}
	for i, part := range append(slices.Clone(s.parts), "everything else") {
		d[part] -= 100 * truth[i]
	}
	for name, share := range named.shares(spots) {
		name, _, _ = strings.Cut(name, " (")
		if name = strings.TrimPrefix(name, "main."); slices.Contains(s.parts, name) {
			d[name] += 100 * share
			d["everything else"] -= 100 * share
		}
	}
	return d
}

// account is the processor time that is accounted to a target so far.
type account struct {
	parts        []float64 // by the clocks of the threads, ns
	all          float64   // by the clock of the process, ns
	user, system float64   // by the ticks
}

func (s sleeper) account(t *target) (a account) {
	for i := range s.parts {
		a.parts = append(a.parts, float64(t.page.Share(i)))
	}
	a.all = float64(must(processTime(t.pid)))
	st := must(procfs.ReadStat(t.pid))
	a.user, a.system = float64(st.UTime), float64(st.STime)
	return a
}

// truth returns the shares of the functions and of everything else between two accounts.
func (s sleeper) truth(before, after account) (shares []float64) {
	parts := since(before.parts, after.parts)
	var sum float64
	for _, x := range parts {
		sum += x
	}
	user, system := after.user-before.user, after.system-before.system
	if sum == 0 || user+system == 0 {
		fail("the target stands still")
	}
	known := sum / (after.all - before.all)
	if !s.golang() {
		known = user / (user + system)
	}
	for _, x := range parts {
		shares = append(shares, known*x/sum)
	}
	return append(shares, 1-known)
}
