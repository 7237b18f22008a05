package profile

import (
	"cmp"
	"io"
	"slices"
	"time"

	"ptools/internal/clean"
	"ptools/internal/intern"
)

// speedscopeSchema marks a file as speedscope's own format.
const speedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

type speedscopeFile struct {
	Schema   string              `json:"$schema"`
	Exporter string              `json:"exporter"`
	Name     string              `json:"name"`
	Active   int                 `json:"activeProfileIndex"` // shown first
	Shared   speedscopeShared    `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeShared struct {
	Frames []speedscopeFrame `json:"frames"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int32  `json:"line,omitempty"`
}

// speedscopeProfile is a "sampled" profile. Samples are stacks of indices of
// frames, outermost first, and Weights has the count of each.
type speedscopeProfile struct {
	Type       string   `json:"type"`
	Name       string   `json:"name"`
	Unit       string   `json:"unit"`
	StartValue int64    `json:"startValue"`
	EndValue   int64    `json:"endValue"`
	Samples    [][]int  `json:"samples"`
	Weights    []int64  `json:"weights"`
	thread     ThreadID // the thread that the profile is of
	cpu        int64    // processor time in nanoseconds
	timed      []speedscopeSample
}

// speedscopeSample is a stack at a time.
type speedscopeSample struct {
	at     time.Duration
	stack  []int
	weight int64
}

// writeSpeedscope writes one profile per thread; the thread with most processor time is shown first. For a tree it
// writes one profile of all processes, unless they are not distinguished. Samples are in the order of time, as far as times
// are known: the count of a stack is divided among the times at which the thread was there. Without Lines a function is one frame, whichever of its lines was seen: for the
// viewer, frames that differ in any field are different.
func writeSpeedscope(p *Profile, w io.Writer, o *Options) error {
	out := speedscopeFile{
		Schema:   speedscopeSchema,
		Exporter: "psample",
		Name:     "psample " + o.Value.String(),
		Shared:   speedscopeShared{Frames: []speedscopeFrame{}},
		Profiles: []speedscopeProfile{},
	}
	unit := "nanoseconds"
	if o.Value == Samples {
		unit = "none"
	}
	if p.Subject == Calls {
		name, u := p.Called.value(o.Value)
		out.Exporter, out.Name, unit = "pcalls", "pcalls "+name, u
		if u != "nanoseconds" && u != "bytes" { // the viewer knows no others
			unit = "none"
		}
	}
	frames := make(map[speedscopeFrame]int)
	profiles := make(map[ThreadID]int)
	for _, s := range p.finish() {
		times := s.times(o.Value)
		for _, c := range s.ordered() {
			n := drawn(p, c, o.Value)
			if n == 0 {
				continue
			}
			thread, name := c.thread, p.threads[c.thread].String()
			root := p.root(p.threads[c.thread], o, nil)
			if len(root) > 0 {
				thread, name = 0, "all processes"
			}
			t := &out.Profiles[intern.ID(profiles, &out.Profiles, thread, speedscopeProfile{
				Type: "sampled", Name: name, Unit: unit, thread: thread,
			})]
			stack := s.speedscopeStack(root, c.stack, o, &out.Shared, frames)
			for at, weight := range divided(n, times[c.cellKey]) {
				t.timed = append(t.timed, speedscopeSample{at, stack, weight})
			}
			t.EndValue += n
			t.cpu += c.CPU
		}
	}
	slices.SortFunc(out.Profiles, func(a, b speedscopeProfile) int {
		return compareThreads(p.threads[a.thread], p.threads[b.thread])
	})
	for i := range out.Profiles {
		out.Profiles[i].order()
		if out.Profiles[i].cpu > out.Profiles[out.Active].cpu {
			out.Active = i
		}
	}
	return clean.Encode(w, out)
}

// order writes the samples in the order of time.
func (t *speedscopeProfile) order() {
	slices.SortStableFunc(t.timed, func(a, b speedscopeSample) int { return cmp.Compare(a.at, b.at) })
	for _, s := range t.timed {
		t.Samples, t.Weights = append(t.Samples, s.stack), append(t.Weights, s.weight)
	}
}

// speedscopeStack returns the stack below root, outermost first, as indices of frames.
// It adds new frames.
func (s *Space) speedscopeStack(root []label, stack StackID, o *Options, shared *speedscopeShared, seen map[speedscopeFrame]int) []int {
	indices := []int{}
	add := func(f speedscopeFrame) { indices = append(indices, intern.ID(seen, &shared.Frames, f, f)) }
	for _, l := range s.path(s.counted(stack, o), nil) {
		if len(l.lines) == 0 {
			add(speedscopeFrame{Name: s.locationLabels(l, &Options{}, nil)[0].String()})
		}
		for _, n := range l.lines {
			f := s.profile.functions[n.fn]
			fr := speedscopeFrame{Name: cmp.Or(f.name, unknown), File: f.file}
			if o.Lines {
				fr.Line = n.line
			}
			add(fr)
		}
	}
	for _, l := range root {
		add(speedscopeFrame{Name: l.String()})
	}
	slices.Reverse(indices)
	return indices
}
