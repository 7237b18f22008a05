package profile

import (
	"cmp"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"ptools/internal/intern"
)

// writePprof writes a gzipped profile.proto. A profile of time has the sample types
// samples/count, cpu/nanoseconds (the default) and wall/nanoseconds. A profile of thread
// creations has threadcreate/count. A profile of waiting for locks has contentions/count and
// delay/nanoseconds, like the mutex profiles of Go programs. Each sample has the labels thread
// and tid. With several processes it also has pid, and in a tree comm and ppid. A profile of calls has calls/count,
// time/nanoseconds and, if a number was summed, that. The default is the value of the options. Its samples have no labels.
func writePprof(p *Profile, w io.Writer, o *Options) error {
	out := newPprof(p)
	if p.Subject == Calls {
		out.DefaultSampleType, _ = p.Called.value(o.Value)
	}
	return writeCompressed(out, w)
}

func newPprof(p *Profile) *profile.Profile {
	out := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "samples", Unit: "count"},
			{Type: "cpu", Unit: "nanoseconds"},
			{Type: "wall", Unit: "nanoseconds"},
		},
		DefaultSampleType: "cpu",
		PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
		Period:            int64(p.Period),
		DurationNanos:     int64(p.Duration),
	}
	if p.Goroutines.any() {
		out.SampleType = append(out.SampleType, &profile.ValueType{Type: "goroutines", Unit: "nanoseconds"})
	}
	switch p.Subject {
	case Contention:
		out.SampleType = []*profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
		out.DefaultSampleType = "delay"
	case Block:
		out.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
		out.DefaultSampleType = "delay"
	case ThreadCreate:
		out.SampleType = []*profile.ValueType{{Type: "threadcreate", Unit: "count"}}
		out.DefaultSampleType = "threadcreate"
		out.PeriodType = out.SampleType[0]
		out.Period = 1
	case Calls:
		p.Called.types(out)
	}
	if !p.Start.IsZero() {
		out.TimeNanos = p.Start.UnixNano()
	}
	b := pprofBuilder{profile: p, out: out, functions: make(map[uint32]*profile.Function), unnamed: make(map[*profile.Mapping]bool)}
	for _, s := range p.finish() {
		b.space(s)
	}
	b.leaveToReaders()
	return out
}

// pprofBuilder gives the parts of a profile their numbers in the order in
// which they are first needed.
type pprofBuilder struct {
	profile   *Profile
	out       *profile.Profile
	functions map[uint32]*profile.Function
	unnamed   map[*profile.Mapping]bool // a location there has no function
}

func (b *pprofBuilder) space(s *Space) {
	mappings := b.mappings(s)
	locations := make(map[*location]*profile.Location)
	pids := make(map[int]bool)
	for _, t := range b.profile.threads {
		pids[t.pid] = true
	}
	var path []*location
	for _, c := range s.ordered() {
		t := b.profile.threads[c.thread]
		sample := &profile.Sample{
			Value:    []int64{c.Samples, c.CPU, c.Wall},
			Label:    map[string][]string{"thread": {t.name}},
			NumLabel: map[string][]int64{"tid": {int64(t.tid)}},
		}
		if len(b.out.SampleType) == 4 {
			sample.Value = append(sample.Value, c.Goroutines)
		}
		if t.set != "" {
			sample.Label, sample.NumLabel = t.set.pprofLabels(), make(map[string][]int64)
		}
		switch b.profile.Subject {
		case Contention:
			sample.Value = []int64{c.Samples, c.Wall}
			b.waitLabels(sample, c.wait)
		case Block:
			sample.Value = []int64{c.Samples, c.Goroutines}
		case ThreadCreate:
			sample.Value = sample.Value[:1]
		case Calls:
			sample.Value = []int64{c.Samples, c.Wall, c.Sum}[:len(b.out.SampleType)]
			sample.Label, sample.NumLabel = nil, nil
		}
		if b.profile.Subject != Calls && len(pids) > 1 || t.process != 0 {
			sample.NumLabel["pid"] = []int64{int64(t.pid)}
		}
		if t.process != 0 {
			q := &b.profile.processes[t.process-1]
			sample.Label["comm"], sample.NumLabel["ppid"] = []string{q.Command}, []int64{int64(q.PPID)}
		}
		path = s.path(c.stack, path[:0])
		for _, l := range path {
			loc := intern.Value(locations, l, func() *profile.Location { return b.location(l, mappings) })
			sample.Location = append(sample.Location, loc)
		}
		b.out.Sample = append(b.out.Sample, sample)
	}
}

// waitLabels adds labels that say what was waited for, by which function, and which thread held it.
func (b *pprofBuilder) waitLabels(sample *profile.Sample, id WaitID) {
	w, lock, holds := b.profile.wait(id)
	for name, value := range map[string]string{
		"lock": lock.String(), "waiting_function": w.Function, "holder": w.Holder, "unknown": w.Why, "holds": otherLock(&holds, &lock),
	} {
		if value != "" {
			sample.Label[name] = []string{value}
		}
	}
	if w.TID != 0 {
		sample.NumLabel["holder_tid"] = []int64{int64(w.TID)}
	}
}

// mappings adds the mappings of a space, the executable's first: in profile.proto the very first mapping
// stands for the main program. It is added, without addresses, even if none of its code was seen, as for a
// python3 whose code is all in a library.
func (b *pprofBuilder) mappings(s *Space) []*profile.Mapping {
	ofMain := func(m Mapping) bool { return m.Path == s.main }
	if s.main != "" && len(b.out.Mapping) == 0 && !slices.ContainsFunc(s.mappings, ofMain) {
		b.out.Mapping = append(b.out.Mapping, &profile.Mapping{ID: 1, File: s.main})
	}
	order := make([]int, len(s.mappings))
	for i := range order {
		order[i] = i
	}
	other := func(m Mapping) int {
		if ofMain(m) {
			return 0
		}
		return 1
	}
	slices.SortFunc(order, func(i, j int) int {
		x, y := s.mappings[i], s.mappings[j]
		return cmp.Or(
			cmp.Compare(other(x), other(y)),
			cmp.Compare(x.Start, y.Start),
			cmp.Compare(x.Path, y.Path),
			cmp.Compare(i, j),
		)
	})
	mappings := make([]*profile.Mapping, len(s.mappings))
	for _, i := range order {
		m := s.mappings[i]
		mappings[i] = &profile.Mapping{
			ID:    uint64(len(b.out.Mapping) + 1),
			Start: m.Start, Limit: m.Limit, Offset: m.Offset,
			File: m.Path, BuildID: m.BuildID,
		}
		b.out.Mapping = append(b.out.Mapping, mappings[i])
	}
	return mappings
}

func (b *pprofBuilder) location(l *location, mappings []*profile.Mapping) *profile.Location {
	loc := &profile.Location{ID: uint64(len(b.out.Location) + 1)}
	switch l.addr.Kind {
	case Exact, Trampoline:
		loc.Address = l.addr.PC
	case Return:
		// profile.proto requires an address inside the call.
		loc.Address = l.addr.PC - 1
	}
	if l.mapping >= 0 {
		loc.Mapping = mappings[l.mapping]
	}
	for _, n := range b.profile.named(l) {
		f := b.function(n.fn)
		loc.Line = append(loc.Line, profile.Line{Function: f, Line: int64(n.line)})
		if m := loc.Mapping; m != nil {
			m.HasFunctions = true
			m.HasFilenames = m.HasFilenames || f.Filename != ""
			m.HasLineNumbers = m.HasLineNumbers || n.line > 0
			m.HasInlineFrames = m.HasInlineFrames || n.inlined
		}
	}
	if len(loc.Line) == 0 && loc.Mapping != nil {
		b.unnamed[loc.Mapping] = true
	}
	b.out.Location = append(b.out.Location, loc)
	return loc
}

// leaveToReaders marks the mappings that have a location without a function as not symbolized. Readers look up the
// names of such mappings in files that they have.
func (b *pprofBuilder) leaveToReaders() {
	for m := range b.unnamed {
		m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = false, false, false, false
	}
}

func (b *pprofBuilder) function(fn uint32) *profile.Function {
	return intern.Value(b.functions, fn, func() *profile.Function {
		g := b.profile.functions[fn]
		f := &profile.Function{ID: uint64(len(b.out.Function) + 1), Name: g.name, SystemName: cmp.Or(g.raw, g.name), Filename: g.file}
		b.out.Function = append(b.out.Function, f)
		return f
	})
}
