package main

import (
	"context"
	"errors"
)

// role is the role of a contender in the comparison.
type role string

const (
	none  role = "none"  // no tool at all
	floor role = "floor" // the least that can be done in C
	peer  role = "peer"
	ours  role = "ours"
)

// competitor is one of the tools that a row compares, with its function there.
type competitor[F any] struct {
	tool    string
	role    role
	program string // that must be installed
	do      F
}

// measure makes one measurement, in the unit of the row.
type measure = func(context.Context) float64

// contender is a competitor that can be measured.
type contender = competitor[measure]

// each makes contenders of competitors.
func each[F any](all []competitor[F], measured func(ctx context.Context, x competitor[F]) float64) (cs []contender) {
	for _, x := range all {
		cs = append(cs, contender{x.tool, x.role, x.program, func(ctx context.Context) float64 { return measured(ctx, x) }})
	}
	return cs
}

// noTool returns contenders with the target without any tool put first.
func noTool(m measure, others []contender) []contender {
	return append([]contender{{"no tool", none, "", m}}, others...)
}

// The two ways of psample to measure processor time.
const (
	toolTimers = "psample"
	toolStops  = "psample --timers off"
)

// bothWays makes contenders of both ways; timers is the value of the flag.
func bothWays(measured func(ctx context.Context, tool, timers string) float64) []contender {
	way := func(tool, timers string) contender {
		return contender{tool, ours, "", func(ctx context.Context) float64 { return measured(ctx, tool, timers) }}
	}
	return []contender{way(toolTimers, "auto"), way(toolStops, "off")}
}

// wall measures how long a command takes.
func wall(argv ...string) measure {
	return func(ctx context.Context) float64 { return must(finish(ctx, argv...)).wall.Seconds() }
}

// during returns what f returns while something runs, which end ends.
func during(end func() error, f func() float64) (v float64) {
	err := attempt(func() { v = f() })
	check(errors.Join(err, end()))
	return v
}

// series is the measured values of a contender.
type series struct {
	Tool   string    `json:"tool"`
	Role   role      `json:"role"`
	Values []float64 `json:"values"` // in the unit of the row, one a repeat
	Note   string    `json:"note,omitempty"`
}

// interleave measures all contenders in turn, repeats times. A contender that fails gets a note,
// and is left out from then on.
func interleave(ctx context.Context, repeats int, cs []contender) []series {
	all := make([]series, len(cs))
	for i, c := range cs {
		all[i] = series{Tool: c.tool, Role: c.role, Note: missing(c.program)}
	}
	for range repeats {
		for i, c := range cs {
			s := &all[i]
			if s.Note != "" || ctx.Err() != nil {
				continue
			}
			if err := attempt(func() { s.Values = append(s.Values, c.do(ctx)) }); err != nil {
				s.Note = err.Error()
			}
		}
	}
	return all
}
