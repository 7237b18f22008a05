package sample

import (
	"cmp"
	"io"
	"sort"
	"time"

	pprof "github.com/google/pprof/profile"

	"ptools/internal/intern"
	"ptools/internal/profile"
	"ptools/pctl"
)

// WritePprof writes a gzipped profile.proto with the sample type goroutine/count, each thread a sample.
func (s *Stacks) WritePprof(w io.Writer) error {
	b := newStackBuilder(s.at, s.took, s.maps)
	for _, t := range s.threads {
		b.addThread(&t)
	}
	return b.out.Write(w)
}

// newStackBuilder returns a builder of a profile that was taken at a time and took a while.
func newStackBuilder(at time.Time, took time.Duration, maps []pctl.Map) *stackBuilder {
	kind := &pprof.ValueType{Type: "goroutine", Unit: "count"}
	return &stackBuilder{out: &pprof.Profile{
		SampleType: []*pprof.ValueType{kind}, PeriodType: kind, Period: 1, DefaultSampleType: kind.Type,
		TimeNanos: at.UnixNano(), DurationNanos: max(int64(took), 1),
	}, maps: maps, locations: make(map[uint64]*pprof.Location), functions: make(map[[3]string]*pprof.Function), mappings: make(map[mappedFile]*pprof.Mapping)}
}

// stackBuilder makes a profile.proto of stacks.
type stackBuilder struct {
	out       *pprof.Profile
	maps      []pctl.Map // executable, in ascending order
	locations map[uint64]*pprof.Location
	functions map[[3]string]*pprof.Function
	mappings  map[mappedFile]*pprof.Mapping
}

// mappedFile is a mapping of a file. start is 0 if it is not known.
type mappedFile struct {
	path  string
	start uint64
}

// addThread adds a thread. If its stack is not known, its state stands for the stack.
func (b *stackBuilder) addThread(t *threadStack) {
	frames := t.frames
	if len(frames) == 0 {
		frames = []pctl.Frame{{Func: "[" + t.state + "]"}}
	}
	sample := b.add(frames, 1)
	sample.NumLabel = map[string][]int64{"tid": {int64(t.tid)}}
	if t.name != "" {
		sample.Label = map[string][]string{"thread": {t.name}}
	}
}

// add adds a number of threads, or goroutines, with the same stack.
func (b *stackBuilder) add(frames []pctl.Frame, count int64) *pprof.Sample {
	sample := &pprof.Sample{Value: []int64{count}}
	for i := 0; i < len(frames); {
		n := i + 1
		for n < len(frames) && frames[n-1].Inlined {
			n++
		}
		addr := frames[i].PC
		if i > 0 && frames[n-1].Offset > 0 {
			addr-- // profile.proto requires an address inside the call
		}
		sample.Location = append(sample.Location, b.location(addr, frames[i:n]))
		i = n
	}
	b.out.Sample = append(b.out.Sample, sample)
	return sample
}

// location returns the location of the functions at one address, the innermost first. Functions without a name are left
// to readers, and their mapping is marked as not symbolized.
func (b *stackBuilder) location(addr uint64, frames []pctl.Frame) *pprof.Location {
	if l := b.locations[addr]; l != nil && addr != 0 {
		return l
	}
	m := b.mapping(addr, &frames[len(frames)-1])
	l := &pprof.Location{ID: uint64(len(b.out.Location) + 1), Address: addr, Mapping: m}
	for i := range frames {
		if f := &frames[i]; f.Func != "" {
			l.Line = append(l.Line, pprof.Line{Function: b.function(f), Line: int64(f.Line)})
		}
	}
	if m != nil && len(l.Line) == 0 {
		m.HasFunctions = false
	}
	b.out.Location = append(b.out.Location, l)
	b.locations[addr] = l
	return l
}

// mapping returns the mapping of a file at an address.
func (b *stackBuilder) mapping(addr uint64, f *pctl.Frame) *pprof.Mapping {
	if f.Object == "" {
		return nil
	}
	var at pctl.Map
	i := sort.Search(len(b.maps), func(i int) bool { return b.maps[i].End > addr })
	if i < len(b.maps) && b.maps[i].Start <= addr {
		at = b.maps[i]
	}
	return intern.Value(b.mappings, mappedFile{f.Object, at.Start}, func() *pprof.Mapping {
		m := &pprof.Mapping{
			ID: uint64(len(b.out.Mapping) + 1), Start: at.Start, Limit: at.End, Offset: at.Off,
			File: profile.Clean(f.Object), BuildID: f.BuildID, HasFunctions: true,
		}
		b.out.Mapping = append(b.out.Mapping, m)
		return m
	})
}

func (b *stackBuilder) function(f *pctl.Frame) *pprof.Function {
	name, file := profile.Clean(f.Func), profile.Clean(f.File)
	raw := profile.Clean(cmp.Or(f.Raw, f.Func))
	return intern.Value(b.functions, [3]string{name, raw, file}, func() *pprof.Function {
		g := &pprof.Function{ID: uint64(len(b.out.Function) + 1), Name: name, SystemName: raw, Filename: file}
		b.out.Function = append(b.out.Function, g)
		return g
	})
}
