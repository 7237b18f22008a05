package main

import "context"

// role is what a contender is in the comparison.
type role string

const (
	none  role = "none"  // no tool at all
	floor role = "floor" // the least that can be done in C
	peer  role = "peer"
	ours  role = "ours"
)

// contender is one of the tools that a row compares.
type contender struct {
	tool    string
	role    role
	program string // that must be installed
	measure func(context.Context) (float64, error)
}

// series is what was measured of a contender.
type series struct {
	Tool   string    `json:"tool"`
	Role   role      `json:"role"`
	Values []float64 `json:"values"` // in the unit of the row, one a repeat
	Note   string    `json:"note,omitempty"`
}

// interleave measures all contenders in turn, repeats times. A contender that fails has a note and
// is left out from then on.
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
			v, err := c.measure(ctx)
			if err != nil {
				s.Note = err.Error()
				continue
			}
			s.Values = append(s.Values, v)
		}
	}
	return all
}
