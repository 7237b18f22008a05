package profile

import (
	"fmt"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"ptools/internal/flame"
)

// Called says what a profile of [Calls] is of.
type Called struct {
	Functions int    // that were called
	Sum       string // the number that was summed, as it was asked for; empty: none
	Unit      string // of that; empty: not known
	Nested    bool   // some were called by others: the time of an outer call has that of the inner ones, and both are counted
}

// callValues are the values of a profile of calls, in the order in which they are offered.
var callValues = []Value{Samples, Wall, Sum}

// ParseCallValue returns the value with a name: calls, time or sum.
func ParseCallValue(name string) (v Value, ok bool) {
	v, ok = map[string]Value{"calls": Samples, "time": Wall, "sum": Sum}[name]
	return v, ok
}

// value returns the name of a value, and its unit as pprof has it.
func (c *Called) value(v Value) (name, unit string) {
	switch v {
	case Samples:
		return "calls", "count"
	case Wall:
		return "time", "nanoseconds"
	}
	if name, unit = Clean(c.Sum), Clean(c.Unit); unit == "" {
		unit = "count"
	}
	if name == "calls" || name == "time" {
		name = "sum of " + name // types with one name are one for readers
	}
	return name, unit
}

// values returns what a profile has.
func (c *Called) values() []Value {
	if c.Sum == "" {
		return callValues[:2]
	}
	return callValues
}

// types sets the sample types.
func (c *Called) types(out *profile.Profile) {
	out.SampleType = nil
	for _, v := range c.values() {
		name, unit := c.value(v)
		out.SampleType = append(out.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	out.PeriodType, out.Period = out.SampleType[0], 1
}

// graphed returns what a graph counts.
func (c *Called) graphed() (all []flame.Value) {
	for _, v := range c.values() {
		name, unit := c.value(v)
		of := flame.Value{Name: name}
		switch unit {
		case "count":
		case "nanoseconds":
			of.Unit = flame.Nanoseconds
		default:
			of.Name += " (" + unit + ")"
		}
		all = append(all, of)
	}
	return all
}

// drawn is what a cell counts where there is room for nothing below zero: in a picture, and in folded stacks.
func drawn(p *Profile, c *cell, v Value) int64 {
	n := c.of(v)
	if p.Subject == Calls {
		n = max(n, 0)
	}
	return n
}

// Negative returns how many stacks have a sum below zero. They count as zero in all formats but Pprof.
func Negative(p *Profile) (n int) {
	for _, s := range p.spaces {
		for i := range s.cells {
			if s.cells[i].Sum < 0 {
				n++
			}
		}
	}
	return n
}

// writeCalledHead writes lines that say what was called.
func writeCalledHead(p *Profile, b io.Writer) {
	total := p.Total()
	fmt.Fprintf(b, "%s: %.1f s, %s of %s\n", subjectsOf(p), p.Duration.Seconds(), plural(int(total.Samples), "call", "calls"),
		plural(p.Called.Functions, "function", "functions"))
	fmt.Fprintf(b, "time: %v, from the beginning of each call to its end, waiting included\n", time.Duration(total.Wall))
	if p.Called.Nested {
		fmt.Fprintln(b, "functions that were counted have called each other: the time of the inner calls is in that of the outer ones too")
	}
	if p.Called.Sum == "" {
		return
	}
	name, unit := p.Called.value(Sum)
	fmt.Fprintf(b, "sum of %s: %d", name, total.Sum)
	if unit != "count" {
		fmt.Fprintf(b, " %s", unit)
	}
	fmt.Fprintln(b)
	if n := Negative(p); n > 0 {
		fmt.Fprintf(b, "not drawn: the sums of %s are below zero\n", plural(n, "stack", "stacks"))
	}
}
