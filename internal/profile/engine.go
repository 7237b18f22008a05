package profile

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/google/pprof/profile"
)

// Engine returns a profile of one value, as engines for continuous profiles expect it of a Go program. The first sample
// type is samples/count. The second, which the period is of, is cpu/nanoseconds for CPU and wall/nanoseconds for Wall.
// Samples without a stack or without the value are left out, and so are labels without a value.
func (p *Profile) Engine(v Value) *profile.Profile {
	out := newPprof(p)
	column := map[Value]int{CPU: 1, Wall: 2}[v]
	out.SampleType = []*profile.ValueType{out.SampleType[0], out.SampleType[column]}
	out.PeriodType, out.DefaultSampleType = out.SampleType[1], out.SampleType[1].Type
	out.DurationNanos = max(out.DurationNanos, 1)
	samples := out.Sample[:0]
	for _, s := range out.Sample {
		if s.Value[column] == 0 || len(s.Location) == 0 {
			continue
		}
		s.Value = []int64{s.Value[0], s.Value[column]}
		maps.DeleteFunc(s.Label, func(_ string, values []string) bool { return values[0] == "" })
		samples = append(samples, s)
	}
	if len(samples) < len(out.Sample) {
		out.Sample = samples
		out = out.Compact() // without the functions of the others
	}
	return out
}

// WriteMutex writes a Contention profile as engines expect Go's mutex profile: the period is one contention. Samples
// without a stack are left out.
func (p *Profile) WriteMutex(w io.Writer) error {
	out := newPprof(p)
	out.PeriodType, out.Period, out.DurationNanos = out.SampleType[0], 1, max(out.DurationNanos, 1)
	all := len(out.Sample)
	out.Sample = slices.DeleteFunc(out.Sample, func(s *profile.Sample) bool {
		maps.DeleteFunc(s.Label, func(_ string, values []string) bool { return values[0] == "" })
		return len(s.Location) == 0
	})
	if len(out.Sample) < all {
		out = out.Compact()
	}
	return writeCompressed(out, w)
}

// WriteContentions writes the text form of Go's mutex profiles, or of its block profiles for a Block, with nanoseconds as cycles. It has a line for each
// stack, with the time, the count and the addresses, followed by comments with the names.
func (p *Profile) WriteContentions(w io.Writer) error {
	b := bufio.NewWriter(w)
	if p.Subject == Block {
		fmt.Fprintf(b, "--- contention:\ncycles/second=1000000000\n# sampled: time of goroutines, and how often they were met waiting in %d readings\n", p.Goroutines.Rounds)
	} else {
		fmt.Fprint(b, "--- mutex:\ncycles/second=1000000000\nsampling period=1\n")
	}
	out := newPprof(p)
	slices.SortStableFunc(out.Sample, func(x, y *profile.Sample) int { return cmp.Compare(y.Value[1], x.Value[1]) })
	for _, s := range out.Sample {
		fmt.Fprintf(b, "%d %d @", s.Value[1], s.Value[0])
		for _, l := range s.Location {
			if l.Address != 0 || p.Subject != Block {
				fmt.Fprintf(b, " %#x", l.Address)
			}
		}
		fmt.Fprintln(b)
		for _, l := range s.Location {
			for _, n := range l.Line {
				fmt.Fprintf(b, "#\t%#x\t%s\t%s:%d\n", l.Address, n.Function.Name, n.Function.Filename, n.Line)
			}
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// compressors are reused: making one takes longer than compressing the profile of a process that mostly sleeps.
var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one of those that there are
	return z
}}

// WriteEngine writes what Engine returns, gzipped.
func (p *Profile) WriteEngine(w io.Writer, v Value) error { return writeCompressed(p.Engine(v), w) }

func writeCompressed(p *profile.Profile, w io.Writer) error {
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(w)
	if err := p.WriteUncompressed(z); err != nil {
		return err
	}
	return z.Close()
}
