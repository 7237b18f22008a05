package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// spot is a program counter in user mode, and the processor time of a profile there. Time in the
// kernel belongs to the spot of the system call, the fault or the interrupt. addr is 0 for time
// without a place.
type spot struct {
	pid    int
	addr   uint64
	weight float64
}

// spotter finds out where processes use processor time.
type spotter = competitor[func(ctx context.Context, pids []int) []spot]

// spotters returns the tools that profile at a rate for a window.
func (l *lab) spotters(ctx context.Context, rate int, window time.Duration) []spotter {
	psample := l.tool(ctx, "psample")
	ours99 := func(timers string) func(context.Context, []int) []spot {
		return func(ctx context.Context, pids []int) []spot {
			return l.psampleSpots(ctx, pids, psample, "-F", strconv.Itoa(rate), "-t", window.String(), "--timers", timers)
		}
	}
	return []spotter{
		{"perf -p", peer, "perf", func(ctx context.Context, pids []int) []spot {
			return l.perfSpots(ctx, pids, rate, window, "-p", join(pids))
		}},
		{"perf -a", peer, "perf", func(ctx context.Context, pids []int) []spot {
			return l.perfSpots(ctx, pids, rate, window, "-a")
		}},
		{toolTimers, ours, "", ours99("auto")},
		{toolStops, ours, "", ours99("off")},
	}
}

func join(pids []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(pids), " ", ","), "[]")
}

// perfSpots records with perf. The recorded user registers are those of user mode, wherever the
// sample was taken. So samples in the kernel have the place that called it.
func (l *lab) perfSpots(ctx context.Context, pids []int, rate int, window time.Duration, whom ...string) []spot {
	l.pages++ // two perfs may record at the same time
	data := l.path(fmt.Sprintf("perf%d.data", l.pages))
	defer os.Remove(data)
	argv := append([]string{"perf", "record", "-q", "-e", "cpu-clock", "-F", strconv.Itoa(rate), "--user-regs=ip", "-o", data}, whom...)
	must(finish(ctx, append(argv, "--", "sleep", fmt.Sprint(window.Seconds()))...))
	return must(readPerfData(data, pids))
}

// psampleSpots profiles with ours.
func (l *lab) psampleSpots(ctx context.Context, pids []int, argv ...string) []spot {
	return must(l.psampleJSON(ctx, append(argv, "-p", join(pids))...).spots())
}

// document is the part of psample's JSON that is read.
type document struct {
	Start     time.Time     `json:"start"`
	Duration  time.Duration `json:"duration_ns"`
	Threads   []docThread   `json:"threads"`
	Functions []docFunction `json:"functions"`
	Locations []docLocation `json:"locations"`
	Samples   []docSample   `json:"samples"`
	Waits     []docWait     `json:"waits"`
}

type docThread struct {
	PID int `json:"pid"`
}

type docFunction struct {
	Name string `json:"name"`
}

type docLocation struct {
	Address string    `json:"address"`
	Lines   []docLine `json:"lines"`
}

type docLine struct {
	Function int `json:"function"`
}

type docSample struct {
	Thread int     `json:"thread"`
	Stack  []int   `json:"stack"`
	CPU    float64 `json:"cpu_ns"`
	Wall   float64 `json:"wall_ns"`
	Wait   *int    `json:"wait"`
}

type docWait struct {
	Lock struct {
		Symbol string `json:"symbol"`
	} `json:"lock"`
	Unknown string `json:"unknown"`
}

// psampleJSON runs a psample that ends by itself.
func (l *lab) psampleJSON(ctx context.Context, argv ...string) *document {
	d, _ := l.psampleSays(ctx, argv...)
	return d
}

// psampleSays is psampleJSON that also returns the other output of psample.
func (l *lab) psampleSays(ctx context.Context, argv ...string) (*document, *result) {
	out := l.path("psample.json")
	defer os.Remove(out)
	r := must(finish(ctx, with(argv[:1], with([]string{"-O", "json", "-o", out}, argv[1:]...)...)...))
	d := new(document)
	check(json.Unmarshal(must(os.ReadFile(out)), d))
	return d, r
}

// cpu returns the processor time of all samples.
func (d *document) cpu() (sum float64) {
	for _, s := range d.Samples {
		sum += s.CPU
	}
	return sum
}

// spots returns the innermost places with an address: the name of a system call has none.
func (d *document) spots() (spots []spot, err error) {
	for _, s := range d.Samples {
		if s.CPU == 0 {
			continue
		}
		x := spot{weight: s.CPU}
		if s.Thread < len(d.Threads) {
			x.pid = d.Threads[s.Thread].PID
		}
		for _, i := range s.Stack {
			if i >= len(d.Locations) {
				return nil, errors.New("psample: a stack names a location that is not there")
			}
			if hex := d.Locations[i].Address; hex != "" {
				if x.addr, err = strconv.ParseUint(hex, 0, 64); err != nil {
					return nil, err
				}
				break
			}
		}
		spots = append(spots, x)
	}
	return spots, nil
}
