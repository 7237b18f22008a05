package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ptools/internal/calls"
	"ptools/internal/profile"
	"ptools/internal/usage"
)

// saving is what is written to a file.
type saving struct {
	output  string // empty: nothing
	format  profile.Format
	value   profile.Value
	unit    string // of the sum; empty: not known
	implied bool   // --by stack was not given: the table has a line for each function
}

// savingFlags are the values of the flags before they are checked.
type savingFlags struct{ output, format, value, unit string }

func (r *savingFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&r.output, "output", "o", "", "")
	fs.StringVarP(&r.format, "format", "O", "", "")
	fs.StringVar(&r.value, "value", "", "")
	fs.StringVar(&r.unit, "unit", "", "")
}

// callFormats returns the names of the formats.
func callFormats() []string {
	return strings.Split(strings.Replace(profile.CallFormatNames(), " or ", ", ", 1), ", ")
}

// saved finds out what is written to a file. A profile is by stack.
func (r *rawFlags) saved(fs *pflag.FlagSet) error {
	s := &r.config.save
	s.output, s.unit = r.output, r.unit
	if r.output == "" {
		for _, name := range []string{"output", "format", "value", "unit"} {
			if fs.Changed(name) {
				return usage.Errorf("-O, --value and --unit are about the file of -o FILE, which is not given")
			}
		}
		return nil
	}
	var ok bool
	switch s.format, ok = profile.FormatOf(r.output); {
	case r.output == "-":
		return usage.Errorf("-o wants a file: standard output has the table")
	case fs.Changed("format"):
		if s.format, ok = profile.ParseFormat(r.format); !ok || !s.format.HasCalls() {
			return usage.Errorf("unknown format %q: %s", r.format, profile.CallFormatNames())
		}
	case !ok || !s.format.HasCalls():
		return usage.Errorf("the ending of %s is no format's: %s; or give -O", r.output, profile.CallFormatEndings())
	}
	if s.value, ok = profile.ParseCallValue(r.value); !ok && fs.Changed("value") {
		return usage.Errorf("unknown value %q: calls, time or sum", r.value)
	}
	summed := r.config.sum != nil
	switch {
	case !summed && s.value == profile.Sum:
		return usage.Errorf("--value sum: give --sum EXPR")
	case !summed && fs.Changed("unit"):
		return usage.Errorf("--unit is that of the sum: give --sum EXPR")
	case r.config.by != nil && !r.config.by.Stack():
		return usage.Errorf("-o is by stack: --by %s does not go with it", r.by)
	case ok:
	case summed:
		s.value = profile.Sum
	default:
		s.value = profile.Wall
	}
	if s.implied = r.config.by == nil; s.implied {
		r.config.by = calls.ByStack()
	}
	return nil
}

// write writes the profile, if one is to be written.
func (s *session) write(groups []calls.Group, begun time.Time) error {
	if s.save.output == "" {
		return nil
	}
	p, err := profileOf(s.parts[0].watch, groups)
	if err != nil {
		return fmt.Errorf("%s is not written: %w", s.save.output, err)
	}
	p.Start, p.Duration = begun, time.Since(begun)
	if p.Called.Unit = s.save.unit; s.sum != nil {
		p.Called.Sum = s.sum.Text
	}
	total := p.Total()
	switch n := profile.Negative(p); {
	case total.Samples == 0:
		return fmt.Errorf("%s is not written: no call was counted", s.save.output)
	case n > 0 && s.save.format != profile.Pprof:
		s.say("the sums of %s are below zero, and count as 0 in %s: pprof's format has them", counted(uint64(n), "stack", "stacks"), s.save.output)
	case s.save.value == profile.Wall && total.Wall == 0:
		s.say("no call has ended: %s has no times; --value calls shows their numbers", s.save.output)
	}
	shown := s.save.value == profile.Wall || s.save.format == profile.Pprof || s.save.format == profile.HTML
	if p.Called.Nested && total.Wall > 0 && shown {
		s.say("functions that are counted call each other: in %s the time of the inner calls is in that of the outer ones too", s.save.output)
	}
	o := &profile.Options{Value: s.save.value}
	return profile.WriteFile(s.save.output, func(w io.Writer) error { return p.Write(w, s.save.format, o) })
}
