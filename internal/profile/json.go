package profile

import (
	"io"
	"strconv"
	"time"

	"ptools/internal/clean"
	"ptools/internal/intern"
)

// Document is the json output: one object. Tables come first. The rest refers
// to them by index, counted from 0; -1 means none.
type Document struct {
	Version    int            `json:"version"` // of this schema: 1
	Subject    string         `json:"subject"` // "time", "threadcreate" or "contention"
	Start      time.Time      `json:"start"`   // RFC 3339
	DurationNS int64          `json:"duration_ns"`
	PeriodNS   int64          `json:"period_ns"`
	Rounds     int64          `json:"rounds"`
	CPUNS      int64          `json:"cpu_ns"`              // processor time of the targets, sampled or not
	Programs   []DocProgram   `json:"programs,omitempty"`  // of processes that are no tree
	Processes  []DocProcess   `json:"processes,omitempty"` // of a tree
	Commands   []DocCommand   `json:"commands,omitempty"`  // of a tree
	Threads    []DocThread    `json:"threads"`
	Functions  []DocFunction  `json:"functions"`
	Mappings   []DocMapping   `json:"mappings"`
	Locations  []DocLocation  `json:"locations"`
	Samples    []DocSample    `json:"samples"`
	Waits      []DocWait      `json:"waits,omitempty"` // of "contention"
	Goroutines *DocGoroutines `json:"goroutines,omitempty"`
}

// DocWait is what a thread waited for, and which thread held it.
type DocWait struct {
	Lock     DocLock  `json:"lock"`
	Holds    *DocLock `json:"holds,omitempty"`    // lock of the blamed thread, if it is another one, because the holder of lock waited itself
	Function string   `json:"function,omitempty"` // that waited
	Holder   string   `json:"holder,omitempty"`   // name of the thread
	TID      int      `json:"holder_tid,omitempty"`
	Unknown  string   `json:"unknown,omitempty"` // why no thread is blamed
}

// DocLock is a lock, or something else that threads wait for.
type DocLock struct {
	Kind    string `json:"kind"`
	PID     int    `json:"pid"`
	Address string `json:"address"` // hexadecimal
	Symbol  string `json:"symbol,omitempty"`
	Offset  uint64 `json:"offset,omitempty"`
	Object  string `json:"object,omitempty"`
	Owned   bool   `json:"owned"` // threads hold it
}

// DocThread is a thread. TID 0 stands for all threads beyond the first 65536.
type DocThread struct {
	PID  int    `json:"pid"`
	TID  int    `json:"tid"`
	Name string `json:"name"`
	// Process is the index of its process in a profile of a tree. There several processes may have had the same number.
	Process *int `json:"process,omitempty"`
	// Goroutines: it stands for the goroutines with these labels of runtime/pprof.
	Goroutines bool              `json:"goroutines,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// DocProgram is a program that a process has executed.
type DocProgram struct {
	PID        int    `json:"pid"`
	Executable string `json:"executable"` // its path
}

// DocProcess is a process of a tree. PID 0 stands for all processes beyond the
// first 65536.
type DocProcess struct {
	PID    int    `json:"pid"`
	PPID   int    `json:"ppid"`
	Comm   string `json:"comm"` // the last name of its first thread
	CPUNS  int64  `json:"cpu_ns"`
	WallNS int64  `json:"wall_ns"`
}

// DocCommand is the sum over the processes of a tree with one name.
type DocCommand struct {
	Comm      string `json:"comm"`
	Processes int64  `json:"processes"`
	CPUNS     int64  `json:"cpu_ns"`
	WallNS    int64  `json:"wall_ns"`
}

// DocFunction is a function, or a system call that threads wait in: "[futex]".
type DocFunction struct {
	Name   string `json:"name"`
	File   string `json:"file,omitempty"`
	Object string `json:"object,omitempty"` // path of the file that holds the code
}

// DocMapping is a file mapped in a process. PID 0: in several processes of a tree, at an address that is not that of any
// of them.
type DocMapping struct {
	PID     int    `json:"pid"`
	Path    string `json:"path"`
	BuildID string `json:"build_id,omitempty"`
	Start   string `json:"start"`  // hexadecimal address
	Limit   string `json:"limit"`  // hexadecimal address, exclusive
	Offset  uint64 `json:"offset"` // of start in the file
}

// DocLocation is a place in the code. Several lines are inlined functions,
// innermost first. A location without lines has no known function, one without
// an address is not code.
type DocLocation struct {
	Address string    `json:"address,omitempty"` // hexadecimal
	Return  bool      `json:"return,omitempty"`  // the call is before the address
	Mapping int       `json:"mapping"`           // index in mappings or -1
	Lines   []DocLine `json:"lines"`
}

// DocLine is a function at a location.
type DocLine struct {
	Function int   `json:"function"` // index in functions
	Line     int32 `json:"line,omitempty"`
	Inlined  bool  `json:"inlined,omitempty"`
}

// DocSample has the counts of one thread in one stack.
type DocSample struct {
	Thread     int   `json:"thread"` // index in threads
	Stack      []int `json:"stack"`  // indices in locations, innermost first
	Samples    int64 `json:"samples"`
	CPUNS      int64 `json:"cpu_ns"`
	WallNS     int64 `json:"wall_ns"`
	ReadyNS    int64 `json:"ready_ns"`                // of wall_ns: the thread waited for a processor
	Goroutines int64 `json:"goroutines_ns,omitempty"` // of goroutines, which have nothing else
	Wait       *int  `json:"wait,omitempty"`          // index in waits
}

var subjectNames = [...]string{Time: "time", ThreadCreate: "threadcreate", Contention: "contention", Block: "block"}

func writeJSON(p *Profile, w io.Writer, _ *Options) error {
	return clean.Encode(w, newDocument(p))
}

func newDocument(p *Profile) *Document {
	d := &Document{
		Version:    1,
		Subject:    subjectNames[p.Subject],
		Start:      p.Start,
		DurationNS: int64(p.Duration),
		PeriodNS:   int64(p.Period),
		Rounds:     p.Rounds,
		CPUNS:      int64(p.CPU),
		Threads:    []DocThread{},
		Functions:  []DocFunction{},
		Mappings:   []DocMapping{},
		Locations:  []DocLocation{},
		Samples:    []DocSample{},
	}
	b := docBuilder{
		profile:   p,
		out:       d,
		threads:   make(map[ThreadID]int),
		functions: make(map[uint32]int),
		waits:     make(map[WaitID]int),
	}
	for _, q := range p.processes {
		d.Processes = append(d.Processes, DocProcess{q.PID, q.PPID, q.Command, int64(q.CPU), int64(q.Wall)})
	}
	if p.IsTree() {
		for _, c := range p.Commands() {
			d.Commands = append(d.Commands, DocCommand{c.Name, c.Processes, int64(c.CPU), int64(c.Wall)})
		}
	}
	if p.Goroutines.any() {
		d.Goroutines = new(DocGoroutines(p.Goroutines))
	}
	for _, s := range p.finish() {
		if s.main != "" {
			d.Programs = append(d.Programs, DocProgram{s.pid, s.main})
		}
		b.space(s)
	}
	if p.unowned != nil {
		for _, s := range p.unowned.finish() {
			b.space(s)
		}
	}
	return d
}

// docBuilder fills the tables in the order in which entries are first needed.
type docBuilder struct {
	profile   *Profile
	out       *Document
	threads   map[ThreadID]int
	functions map[uint32]int
	waits     map[WaitID]int
}

func (b *docBuilder) wait(id WaitID) *int {
	if id == 0 {
		return nil
	}
	i := intern.Value(b.waits, id, func() int {
		w, lock, holds := b.profile.wait(id)
		doc := DocWait{Lock: docLock(&lock), Function: w.Function, Holder: w.Holder, TID: w.TID, Unknown: w.Why}
		if otherLock(&holds, &lock) != "" {
			other := docLock(&holds)
			doc.Holds = &other
		}
		b.out.Waits = append(b.out.Waits, doc)
		return len(b.out.Waits) - 1
	})
	return &i
}

func docLock(l *Lock) DocLock {
	return DocLock{l.Kind, l.PID, hex(l.Addr), l.Symbol, l.Offset, l.Object, l.Owned}
}

func (b *docBuilder) space(s *Space) {
	locations := make(map[*location]int)
	mappings := make(map[int32]int)
	var path []*location
	for _, c := range s.ordered() {
		sample := DocSample{
			Thread:     b.thread(c.thread),
			Stack:      []int{},
			Samples:    c.Samples,
			CPUNS:      c.CPU,
			WallNS:     c.Wall,
			ReadyNS:    c.Ready,
			Goroutines: c.Goroutines,
			Wait:       b.wait(c.wait),
		}
		path = s.path(c.stack, path[:0])
		for _, l := range path {
			i := intern.Value(locations, l, func() int { return b.location(s, l, mappings) })
			sample.Stack = append(sample.Stack, i)
		}
		b.out.Samples = append(b.out.Samples, sample)
	}
}

func (b *docBuilder) location(s *Space, l *location, mappings map[int32]int) int {
	loc := DocLocation{Mapping: -1, Lines: []DocLine{}, Return: l.addr.Kind == Return}
	if l.addr.Kind != note && l.addr != (Addr{}) { // a profile that was read may lack it
		loc.Address = hex(l.addr.PC)
	}
	if l.mapping >= 0 {
		m := s.mappings[l.mapping]
		loc.Mapping = intern.ID(mappings, &b.out.Mappings, l.mapping, DocMapping{
			PID: s.pid, Path: m.Path, BuildID: m.BuildID, Start: hex(m.Start), Limit: hex(m.Limit), Offset: m.Offset,
		})
	}
	for _, n := range b.profile.named(l) {
		loc.Lines = append(loc.Lines, DocLine{b.function(n.fn), n.line, n.inlined})
	}
	b.out.Locations = append(b.out.Locations, loc)
	return len(b.out.Locations) - 1
}

func (b *docBuilder) thread(id ThreadID) int {
	t := b.profile.threads[id]
	doc := DocThread{PID: t.pid, TID: t.tid, Name: t.name}
	if t.set != "" {
		doc.Goroutines, doc.Labels = true, t.set.labels()
	}
	if t.process != 0 {
		process := int(t.process - 1)
		doc.Process = &process
	}
	return intern.ID(b.threads, &b.out.Threads, id, doc)
}

func (b *docBuilder) function(fn uint32) int {
	f := b.profile.functions[fn]
	return intern.ID(b.functions, &b.out.Functions, fn, DocFunction{f.name, f.file, f.object})
}

func hex(addr uint64) string { return "0x" + strconv.FormatUint(addr, 16) }
