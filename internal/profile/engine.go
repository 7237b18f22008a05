package profile

import (
	"compress/gzip"
	"io"
	"sync"

	"github.com/google/pprof/profile"
)

// Engine returns a profile of one value, as engines for continuous profiles expect it of a Go program: the
// sample types are samples/count and, of CPU, cpu/nanoseconds, of Wall wall/nanoseconds, and the period is of the second. A
// sample without a stack or with nothing of the value is not there, nor is a label without a value.
func (p *Profile) Engine(v Value) *profile.Profile {
	out := p.pprof()
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
		for key, values := range s.Label {
			if values[0] == "" {
				delete(s.Label, key)
			}
		}
		samples = append(samples, s)
	}
	if len(samples) < len(out.Sample) {
		out.Sample = samples
		out = out.Compact() // without the functions of the others
	}
	return out
}

// compressors are kept: making one takes longer than compressing the profile of a process that mostly sleeps.
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
