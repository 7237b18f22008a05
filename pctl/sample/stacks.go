package sample

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	pprof "github.com/google/pprof/profile"

	"ptools/internal/profile"
	"ptools/pctl"
)

// Stacks has the stack of every thread of a process at one moment.
type Stacks struct {
	pid     int
	at      time.Time
	took    time.Duration
	threads []threadStack
}

// threadStack is one thread.
type threadStack struct {
	tid         int
	name, state string
	frames      []pctl.Frame
}

// stops is the last stop of a process for its stacks.
type stops struct {
	mu     sync.Mutex // held while the process is stopped
	stacks *Stacks
	took   time.Duration // from the grab until the release
}

// A process is stopped for its stacks for a twentieth of the time at most, however many clients ask. A client
// that asks too early gets the stacks of the last stop, which say when it was.
const (
	stopsApart = 20 // times as long as a stop takes
	leastApart = 100 * time.Millisecond
	keptStops  = time.Minute
)

// Stacks stops all threads of a process for as long as it takes to copy their registers and stacks, some microseconds a
// thread. It names their functions when they run again. The process must have no other tracer. A process that was stopped
// for this just before is not stopped again: Stacks returns the stacks of that stop.
func (s *Sampler) Stacks(ctx context.Context, pid int) (*Stacks, error) {
	last := s.lastStop(pid)
	last.mu.Lock()
	defer last.mu.Unlock()
	if last.stacks != nil && time.Since(last.stacks.at) < max(stopsApart*last.took, leastApart) {
		return last.stacks, nil
	}
	begun := time.Now()
	stacks, err := s.takeStacks(ctx, pid)
	if err != nil {
		return nil, err
	}
	last.stacks, last.took = stacks, time.Since(begun)
	return stacks, nil
}

// lastStop returns what is known of the last stop of a process, and forgets old stops.
func (s *Sampler) lastStop(pid int) *stops {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		s.stopped = make(map[int]*stops)
	}
	for other, last := range s.stopped {
		if last.mu.TryLock() {
			if last.stacks != nil && time.Since(last.stacks.at) > keptStops {
				delete(s.stopped, other)
			}
			last.mu.Unlock()
		}
	}
	if s.stopped[pid] == nil {
		s.stopped[pid] = new(stops)
	}
	return s.stopped[pid]
}

func (s *Sampler) takeStacks(ctx context.Context, pid int) (_ *Stacks, err error) {
	if err := s.working(); err != nil {
		return nil, err
	}
	defer s.ending.Done()
	p, err := s.session.Grab(ctx, pid, nil)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	st := &Stacks{pid: pid, at: time.Now()}
	var threads []*pctl.Thread
	err = p.Pause(ctx, func(shot *pctl.Snapshot) error {
		shot.CopyStacks()
		threads = slices.Clone(shot.Threads())
		return nil
	})
	st.took = time.Since(st.at)
	if err != nil {
		return nil, err
	}
	for _, t := range threads {
		frames, err := t.Stack() // what could be unwound counts
		state := t.State.String()
		if call, ok := t.Syscall(); ok {
			state = call
		}
		if err != nil && len(frames) == 0 {
			state += ", " + err.Error()
		}
		st.threads = append(st.threads, threadStack{t.TID, profile.Clean(t.Name()), profile.Clean(state), frames})
	}
	slices.SortFunc(st.threads, func(a, b threadStack) int { return cmp.Compare(a.tid, b.tid) })
	s.paused(st.took)
	return st, nil
}

// Len is how many threads there are.
func (s *Stacks) Len() int { return len(s.threads) }

// WriteText writes each thread and its stack in the form in which a Go program writes its goroutines. The number of the
// thread stands for that of the goroutine, and its system call or state for the goroutine's state.
func (s *Stacks) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i, t := range s.threads {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "goroutine %d [%s, %q]:\n", t.tid, t.state, t.name)
		for _, f := range t.frames {
			file, line := profile.Clean(f.File), f.Line
			if file == "" {
				file = profile.Clean(cmp.Or(f.Object, "?"))
			}
			fmt.Fprintf(b, "%s(...)\n\t%s:%d +%#x\n", functionOf(&f), file, line, f.Offset)
		}
	}
	return b.Flush()
}

// WriteCounts writes a line for each distinct stack, with the number of threads that have it and its addresses.
// Comments with the names follow, as a Go program writes its goroutines.
func (s *Stacks) WriteCounts(w io.Writer) error {
	groups := make(map[string][]threadStack)
	for _, t := range s.threads {
		var key strings.Builder
		for _, f := range t.frames {
			if !f.Inlined {
				fmt.Fprintf(&key, " %#x", f.PC)
			}
		}
		groups[key.String()] = append(groups[key.String()], t)
	}
	keys := make([]string, 0, len(groups))
	for key := range groups {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[b]), len(groups[a])), cmp.Compare(a, b))
	})
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goroutine profile: total %d\n", len(s.threads))
	for _, key := range keys {
		fmt.Fprintf(b, "%d @%s\n", len(groups[key]), key)
		for _, f := range groups[key][0].frames {
			fmt.Fprintf(b, "#\t%#x\t%s+%#x\t%s:%d\n", f.PC, functionOf(&f), f.Offset, profile.Clean(cmp.Or(f.File, f.Object)), f.Line)
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// functionOf names a function fit for a line of text.
func functionOf(f *pctl.Frame) string { return profile.Clean(cmp.Or(f.Func, "[unknown]")) }

// WritePprof writes a gzipped profile.proto with the sample type goroutine/count, each thread a sample.
func (s *Stacks) WritePprof(w io.Writer) error {
	kind := &pprof.ValueType{Type: "goroutine", Unit: "count"}
	b := stackBuilder{out: &pprof.Profile{
		SampleType: []*pprof.ValueType{kind}, PeriodType: kind, Period: 1, DefaultSampleType: kind.Type,
		TimeNanos: s.at.UnixNano(), DurationNanos: max(int64(s.took), 1),
	}, locations: make(map[uint64]*pprof.Location), functions: make(map[[2]string]*pprof.Function), mappings: make(map[string]*pprof.Mapping)}
	for _, t := range s.threads {
		b.add(&t)
	}
	return b.out.Write(w)
}

// stackBuilder makes a profile.proto of stacks.
type stackBuilder struct {
	out       *pprof.Profile
	locations map[uint64]*pprof.Location
	functions map[[2]string]*pprof.Function
	mappings  map[string]*pprof.Mapping
}

// add adds a thread. If its stack is not known, its state stands for the stack.
func (b *stackBuilder) add(t *threadStack) {
	sample := &pprof.Sample{Value: []int64{1}, NumLabel: map[string][]int64{"tid": {int64(t.tid)}}}
	if t.name != "" {
		sample.Label = map[string][]string{"thread": {t.name}}
	}
	frames := t.frames
	if len(frames) == 0 {
		frames = []pctl.Frame{{Func: "[" + t.state + "]"}}
	}
	for i := 0; i < len(frames); {
		n := i + 1
		for n < len(frames) && frames[n-1].Inlined {
			n++
		}
		sample.Location = append(sample.Location, b.location(frames[i:n]))
		i = n
	}
	b.out.Sample = append(b.out.Sample, sample)
}

// location returns the location of the functions at one address, the innermost first.
func (b *stackBuilder) location(frames []pctl.Frame) *pprof.Location {
	outer := &frames[len(frames)-1]
	if l := b.locations[outer.PC]; l != nil && outer.PC != 0 {
		return l
	}
	l := &pprof.Location{ID: uint64(len(b.out.Location) + 1), Address: outer.PC, Mapping: b.mapping(outer)}
	for i := range frames {
		f := &frames[i]
		l.Line = append(l.Line, pprof.Line{Function: b.function(functionOf(f), profile.Clean(f.File)), Line: int64(f.Line)})
	}
	b.out.Location = append(b.out.Location, l)
	b.locations[outer.PC] = l
	return l
}

// mapping returns the mapping of a file. It has only the name and the build id, because every location has its
// function.
func (b *stackBuilder) mapping(f *pctl.Frame) *pprof.Mapping {
	if f.Object == "" {
		return nil
	}
	m := b.mappings[f.Object]
	if m == nil {
		m = &pprof.Mapping{ID: uint64(len(b.out.Mapping) + 1), File: profile.Clean(f.Object), BuildID: f.BuildID, HasFunctions: true}
		b.out.Mapping = append(b.out.Mapping, m)
		b.mappings[f.Object] = m
	}
	return m
}

func (b *stackBuilder) function(name, file string) *pprof.Function {
	key := [2]string{name, file}
	f := b.functions[key]
	if f == nil {
		f = &pprof.Function{ID: uint64(len(b.out.Function) + 1), Name: name, SystemName: name, Filename: file}
		b.out.Function = append(b.out.Function, f)
		b.functions[key] = f
	}
	return f
}
