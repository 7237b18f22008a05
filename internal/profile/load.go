package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Load reads a profile that Write has written as JSON or Pprof, or another tool as pprof if it counts time or threads created.
// The formats do not keep everything: neither has times, pprof has no ready time and, if the profile was of one process, no
// PID. What is missing is zero. The error says what is wrong with the file.
func Load(r io.Reader) (*Profile, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return loadJSON(data)
	}
	return loadPprof(data)
}

// loading is a profile that is being read.
type loading struct {
	*Profile
	byPID map[int]*Space
}

func newLoading() *loading { return &loading{New(), make(map[int]*Space)} }

// space returns the space of a process. main is the path of its executable if it is made.
func (l *loading) space(pid int, main string) *Space {
	s := l.byPID[pid]
	if s == nil {
		s = l.Space(pid, main, nil)
		l.byPID[pid] = s
	}
	return s
}

// keepLocation adds a location with what is known of it. It is resolved.
func keepLocation(s *Space, l location) uint32 {
	s.locs = append(s.locs, l)
	s.pending = len(s.locs)
	return uint32(len(s.locs) - 1)
}

// keepNote adds a level that is a name.
func keepNote(s *Space, name string) uint32 {
	fn := s.profile.function(function{name: name})
	return keepLocation(s, location{addr: s.profile.Note(name), mapping: -1, lines: []line{{fn: fn}}})
}

// errCorrupt: a file refers to what it does not have.
var errCorrupt = errors.New("the profile is damaged: it refers to an entry that it does not have")

func loadJSON(data []byte) (*Profile, error) {
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("not a profile: %w", err)
	}
	subject := slices.Index(subjectNames[:], d.Subject)
	switch {
	case d.Version != 1:
		return nil, errors.New("not a profile in JSON of this version (version is not 1)")
	case subject < 0:
		return nil, fmt.Errorf("a profile of an unknown subject: %q", Clean(d.Subject))
	case Subject(subject) == Contention:
		return nil, errors.New("a profile of waiting for locks (--blame): only profiles of time and of threads created can be shown again")
	}
	l := docLoading{newLoading(), &d, make(map[docPlace]uint32)}
	l.Subject, l.Start, l.Rounds = Subject(subject), d.Start, d.Rounds
	l.Duration, l.Period, l.CPU = time.Duration(d.DurationNS), time.Duration(d.PeriodNS), time.Duration(d.CPUNS)
	for _, q := range d.Processes {
		l.SetProcess(l.Process(q.PID, q.PPID), q.Comm, time.Duration(q.CPUNS), time.Duration(q.WallNS))
	}
	if d.Goroutines != nil {
		l.Goroutines = GoroutineRounds(*d.Goroutines)
	}
	for _, p := range d.Programs {
		l.space(p.PID, p.Executable)
	}
	for i := range d.Samples {
		if err := l.sample(&d.Samples[i]); err != nil {
			return nil, err
		}
	}
	return l.Profile, nil
}

// docLoading reads a Document.
type docLoading struct {
	*loading
	doc    *Document
	placed map[docPlace]uint32
}

// docPlace is a location in a space.
type docPlace struct {
	space    *Space
	location int
}

// at returns an entry of a table of a file.
func at[E any](table []E, i int) (e E, err error) {
	if i < 0 || i >= len(table) {
		return e, errCorrupt
	}
	return table[i], nil
}

func (l *docLoading) sample(d *DocSample) error {
	t, err := at(l.doc.Threads, d.Thread)
	if err != nil {
		return err
	}
	id, pid := ThreadID(0), t.PID
	switch {
	case t.Goroutines:
		id = l.GoroutineSet(t.PID, inTurn(t.Labels))
	case t.Process == nil:
		id = l.Thread(t.PID, t.TID, t.Name)
	default:
		if _, err := at(l.processes, *t.Process); err != nil {
			return err
		}
		id, pid = l.ThreadOf(ProcessID(*t.Process+1), t.TID, t.Name), 0
	}
	s, stack := l.space(pid, ""), StackID(0)
	for _, i := range slices.Backward(d.Stack) {
		loc, ok := l.placed[docPlace{s, i}]
		if !ok {
			if loc, err = l.location(s, i); err != nil {
				return err
			}
			l.placed[docPlace{s, i}] = loc
		}
		stack = s.child(stack, loc)
	}
	s.Add(s.Cell(id, stack), Values{Samples: d.Samples, CPU: d.CPUNS, Wall: d.WallNS, Ready: d.ReadyNS, Goroutines: d.Goroutines})
	return nil
}

func (l *docLoading) location(s *Space, i int) (uint32, error) {
	d, err := at(l.doc.Locations, i)
	if err != nil {
		return 0, err
	}
	loc := location{mapping: -1, code: true}
	if d.Mapping >= 0 {
		m, err := at(l.doc.Mappings, d.Mapping)
		if err != nil {
			return 0, err
		}
		start, err1 := strconv.ParseUint(m.Start, 0, 64)
		limit, err2 := strconv.ParseUint(m.Limit, 0, 64)
		if err := errors.Join(err1, err2); err != nil {
			return 0, fmt.Errorf("the profile is damaged: %w", err)
		}
		loc.mapping = s.mapping(Mapping{Start: start, Limit: limit, Offset: m.Offset, Path: m.Path, BuildID: m.BuildID})
	}
	for _, n := range d.Lines {
		f, err := at(l.doc.Functions, n.Function)
		if err != nil {
			return 0, err
		}
		if d.Address == "" && d.Mapping < 0 && len(d.Lines) == 1 {
			return keepNote(s, f.Name), nil
		}
		loc.lines = append(loc.lines, line{l.function(function{name: f.Name, file: f.File, object: f.Object}), n.Line, n.Inlined})
	}
	if d.Address != "" {
		if loc.addr.PC, err = strconv.ParseUint(d.Address, 0, 64); err != nil {
			return 0, fmt.Errorf("the profile is damaged: %w", err)
		}
	}
	if d.Return {
		loc.addr.Kind = Return
	}
	return keepLocation(s, loc), nil
}

// inTurn returns keys and values in turn.
func inTurn(labels map[string]string) (pairs []string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key, labels[key])
	}
	return pairs
}
