package main

import (
	"bufio"
	"errors"
	"math/big"

	"ptools/internal/calls"
	"ptools/internal/clean"
	"ptools/internal/perfevent"
)

// jsonRow is a function in JSON. Times are in nanoseconds.
type jsonRow struct {
	Function string      `json:"function"`
	Raw      string      `json:"raw"`
	Object   string      `json:"object"`
	Calls    uint64      `json:"calls"`
	Returned *uint64     `json:"returned,omitempty"` // absent: the ends are not seen
	Tails    uint64      `json:"tail_calls,omitempty"`
	Left     uint64      `json:"left,omitempty"`
	Untimed  uint64      `json:"untimed,omitempty"`
	Unseen   uint64      `json:"not_printed,omitempty"`
	Sum      int64       `json:"sum_ns"`
	Max      int64       `json:"max_ns"`
	Times    [][2]uint64 `json:"histogram,omitempty"` // least duration of the class, calls
	jsonNode
	Key    *string     `json:"key,omitempty"`
	Rest   string      `json:"rest,omitempty"` // what they are that have no key
	Amount *big.Int    `json:"sum,omitempty"`
	Summed *uint64     `json:"summed,omitempty"` // calls that the sum is of
	Stack  []jsonFrame `json:"stack,omitempty"`
	Cut    string      `json:"cut,omitempty"` // why the stack is not whole
	jsonCoverage
}

// jsonNode is what a row of a tree has.
type jsonNode struct {
	Self *int64   `json:"self_ns,omitempty"` // absent: not known
	Path []string `json:"path,omitempty"`    // the functions that are nested, outermost first
}

// printJSON prints an object a line.
func (s *session) printJSON(rows []row) error {
	w := bufio.NewWriter(s.stdout)
	n := len(rows)
	if s.number > 0 {
		n = min(n, s.number)
	}
	for i := range rows[:n] {
		r := &rows[i]
		j := jsonStats(r)
		if j.Amount = r.total; r.total != nil {
			j.Summed = &r.stats.Amount.Calls
		}
		s.jsonKey(&j, r)
		j.jsonCoverage = coverageJSON(&r.coverage)
		if err := writeJSON(w, j); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), s.printLiftedJSON(s.number-n))
}

// jsonStats returns what all rows have.
func jsonStats(r *row) jsonRow {
	j := jsonRow{
		Function: r.target.Name, Raw: r.target.Raw, Object: r.target.Object, Calls: r.stats.Calls,
		Tails: r.stats.Tails, Left: r.stats.Left, Untimed: r.stats.Untimed, Unseen: r.stats.Unseen, Sum: int64(r.stats.Sum), Max: int64(r.stats.Max),
	}
	if r.coverage.Partly { // they may have returned while that was not seen
		j.Left = 0
	}
	if r.timed() {
		j.Returned = &r.stats.Returned
	}
	for class, n := range r.stats.Buckets {
		if n > 0 {
			j.Times = append(j.Times, [2]uint64{uint64(perfevent.BucketStart(class)), n})
		}
	}
	return j
}

// jsonKey sets what tells the calls of a row apart.
func (s *session) jsonKey(j *jsonRow, r *row) {
	switch {
	case r.Group == nil:
	case r.Rest != calls.None:
		j.Rest = string(r.Rest)
	case s.by.Stack():
		j.Stack, j.Cut = jsonFrames(r.watch.Frames(r.Stack)), r.Cut
	default:
		j.Key = &r.Key
	}
}

// writeJSON writes a value as a line that is fit for a terminal.
func writeJSON(w *bufio.Writer, v any) error {
	return clean.Encode(w, v)
}
