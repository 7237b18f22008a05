package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"ptools/internal/intern"
)

// pprofLoading reads a profile.proto.
type pprofLoading struct {
	*loading
	file      *profile.Profile
	placed    map[pprofPlace]uint32
	processes map[Process]ProcessID
}

type pprofPlace struct {
	space    *Space
	location *profile.Location
}

// timeUnits are the units of times in profile.proto, in nanoseconds.
var timeUnits = map[string]int64{"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9}

// counted says which value of a sample has what, -1 for none, and by what it is multiplied.
type counted struct {
	index int
	by    int64
}

// value finds a value by its type.
func (l *pprofLoading) value(name string) counted {
	i := slices.IndexFunc(l.file.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
	if i < 0 {
		return counted{index: -1}
	}
	return counted{i, max(timeUnits[l.file.SampleType[i].Unit], 1)}
}

func (c counted) of(s *profile.Sample) int64 {
	if c.index < 0 {
		return 0
	}
	return s.Value[c.index] * c.by
}

func loadPprof(data []byte) (*Profile, error) {
	file, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("neither a profile in JSON nor one of pprof: %w", err)
	}
	l := pprofLoading{newLoading(), file, make(map[pprofPlace]uint32), make(map[Process]ProcessID)}
	samples, cpu, wall, created := l.value("samples"), l.value("cpu"), l.value("wall"), l.value("threadcreate")
	switch {
	case created.index >= 0:
		l.Subject, samples = ThreadCreate, created
	case cpu.index < 0 && wall.index < 0:
		var types []string
		for _, t := range file.SampleType {
			types = append(types, Clean(t.Type))
		}
		return nil, fmt.Errorf("counts %s: only profiles of time (cpu, wall) and of threads created (threadcreate) can be shown", strings.Join(types, ", "))
	}
	l.partial = true
	if file.TimeNanos != 0 {
		l.Start = time.Unix(0, file.TimeNanos)
	}
	l.Duration = time.Duration(file.DurationNanos)
	if t := file.PeriodType; t != nil && timeUnits[t.Unit] > 0 {
		l.Period = time.Duration(file.Period * timeUnits[t.Unit])
	}
	goroutines := l.value("goroutines")
	if goroutines.index >= 0 {
		l.Goroutines.Rounds = 1 // or more
	}
	for _, s := range file.Sample {
		if len(s.Value) != len(file.SampleType) {
			return nil, errors.New("the profile is damaged: a sample has other values than the profile")
		}
		l.sample(s, Values{Samples: samples.of(s), CPU: cpu.of(s), Wall: wall.of(s), Goroutines: goroutines.of(s)})
	}
	if l.Subject == Time {
		l.CPU = time.Duration(l.Total().CPU)
	}
	return l.Profile, nil
}

// sample adds a sample. The thread is that of the labels that writePprof gives it.
func (l *pprofLoading) sample(d *profile.Sample, v Values) {
	number := func(name string) int {
		if n := d.NumLabel[name]; len(n) > 0 {
			return int(n[0])
		}
		return 0
	}
	text := func(name string) string {
		if n := d.Label[name]; len(n) > 0 {
			return n[0]
		}
		return ""
	}
	main := ""
	if len(l.file.Mapping) > 0 {
		main = l.file.Mapping[0].File
	}
	pid, id := number("pid"), ThreadID(0)
	switch comm := text("comm"); {
	case v.Goroutines > 0:
		labels := make(map[string]string)
		for key := range d.Label {
			labels[key] = text(key)
		}
		id = l.GoroutineSet(pid, inTurn(labels))
	case comm == "":
		id = l.Thread(pid, number("tid"), cmp.Or(text("thread"), "[all threads]"))
	default:
		id, pid, main = l.ThreadOf(l.process(pid, number("ppid"), comm), number("tid"), text("thread")), 0, ""
	}
	s, stack := l.space(pid, main), StackID(0)
	for _, loc := range slices.Backward(d.Location) {
		key := pprofPlace{s, loc}
		kept, ok := l.placed[key]
		if !ok {
			kept = l.location(s, loc)
			l.placed[key] = kept
		}
		stack = s.child(stack, kept)
	}
	s.Add(s.Cell(id, stack), v)
}

// process returns a process of a tree.
func (l *pprofLoading) process(pid, ppid int, comm string) ProcessID {
	return intern.Value(l.processes, Process{PID: pid, PPID: ppid, Command: comm}, func() ProcessID {
		id := l.Process(pid, ppid)
		l.NameProcess(id, comm)
		return id
	})
}

func (l *pprofLoading) location(s *Space, d *profile.Location) uint32 {
	loc, object := location{addr: Addr{PC: d.Address}, mapping: -1, code: true}, ""
	if m := d.Mapping; m != nil {
		loc.mapping = s.mapping(Mapping{Start: m.Start, Limit: m.Limit, Offset: m.Offset, Path: m.File, BuildID: m.BuildID})
		object = m.File
	}
	if d.Address == 0 && d.Mapping == nil && len(d.Line) == 1 && d.Line[0].Function != nil {
		if name := d.Line[0].Function.Name; strings.HasPrefix(name, "[") {
			return keepNote(s, name)
		}
	}
	for i, n := range d.Line {
		if n.Function == nil {
			continue
		}
		f := function{name: n.Function.Name, file: n.Function.Filename, object: object, raw: n.Function.SystemName}
		loc.lines = append(loc.lines, line{l.function(f), int32(n.Line), i < len(d.Line)-1})
	}
	return keepLocation(s, loc)
}
