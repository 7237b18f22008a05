package flame

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"ptools/internal/clean"
	"ptools/internal/intern"
)

// firefoxVersion is the version of the processed profile format of the Firefox Profiler, which reads all older
// versions.
const firefoxVersion = 47

// The categories of frames, by index.
const (
	firefoxOther = iota
	firefoxUser
	firefoxKernel
	firefoxWaiting
	firefoxReady
)

type firefoxFile struct {
	Meta    firefoxMeta      `json:"meta"`
	Libs    []any            `json:"libs"`
	Pages   []any            `json:"pages"`
	Threads []*firefoxThread `json:"threads"`
}

type firefoxMeta struct {
	Interval     float64           `json:"interval"`  // ms
	StartTime    float64           `json:"startTime"` // ms since 1970
	ProcessType  int               `json:"processType"`
	Product      string            `json:"product"`
	Stackwalk    int               `json:"stackwalk"`
	Version      int               `json:"version"`
	Preprocessed int               `json:"preprocessedProfileVersion"`
	Symbolicated bool              `json:"symbolicated"`
	OneStackType bool              `json:"usesOnlyOneStackType"`
	NoFrameImpl  bool              `json:"doesNotUseFrameImplementation"`
	NoSearchfox  bool              `json:"sourceCodeIsNotOnSearchfox"`
	Debug        bool              `json:"debug"`
	Extensions   *firefoxTable     `json:"extensions"`
	Categories   []firefoxCategory `json:"categories"`
	MarkerSchema []any             `json:"markerSchema"`
	SampleUnits  map[string]string `json:"sampleUnits"`
}

type firefoxCategory struct {
	Name          string   `json:"name"`
	Color         string   `json:"color"`
	Subcategories []string `json:"subcategories"`
}

type firefoxThread struct {
	ProcessType   string         `json:"processType"`
	ProcessStart  float64        `json:"processStartupTime"`
	ProcessEnd    *float64       `json:"processShutdownTime"`
	Registered    float64        `json:"registerTime"`
	Unregistered  *float64       `json:"unregisterTime"`
	PausedRanges  []any          `json:"pausedRanges"`
	Name          string         `json:"name"`
	ProcessName   string         `json:"processName"`
	IsMainThread  bool           `json:"isMainThread"`
	PID           string         `json:"pid"`
	TID           int            `json:"tid"`
	Samples       firefoxSamples `json:"samples"`
	Markers       *firefoxTable  `json:"markers"`
	StackTable    *firefoxTable  `json:"stackTable"`
	FrameTable    *firefoxTable  `json:"frameTable"`
	FuncTable     *firefoxTable  `json:"funcTable"`
	ResourceTable *firefoxTable  `json:"resourceTable"`
	NativeSymbols *firefoxTable  `json:"nativeSymbols"`
	Strings       []string       `json:"stringArray"`
	known         firefoxKnown
}

// firefoxKnown has the numbers of the entries in a thread's tables.
type firefoxKnown struct {
	stacks    map[Node]int
	ready     map[Node]int // stacks of threads that wait for a processor
	frames    map[int32]firefoxFrame
	resources map[string]int
	strings   map[string]int
}

// firefoxFrame is the number of a frame in its table, and its category.
type firefoxFrame struct{ id, category int }

// firefoxTable is a table of the format: the length, and the contents of the columns by name.
type firefoxTable struct {
	names   []string
	columns [][]any
	length  int
}

func newFirefoxTable(names ...string) *firefoxTable {
	t := &firefoxTable{names: names}
	for range names {
		t.columns = append(t.columns, []any{})
	}
	return t
}

// add adds a row and returns its number. If there are fewer values than columns, the last columns are null.
func (t *firefoxTable) add(values ...any) int {
	for i := range t.columns {
		var v any
		if i < len(values) {
			v = values[i]
		}
		t.columns[i] = append(t.columns[i], v)
	}
	t.length++
	return t.length - 1
}

// MarshalJSON implements json.Marshaler.
func (t *firefoxTable) MarshalJSON() ([]byte, error) {
	object := map[string]any{"length": t.length}
	for i, name := range t.names {
		object[name] = t.columns[i]
	}
	return json.Marshal(object)
}

// firefoxSamples has the samples of a thread by time. The weight is the value of the sample, in ms or as a number.
type firefoxSamples struct {
	Length     int       `json:"length"`
	Stack      []*int    `json:"stack"`
	Time       []float64 `json:"time"` // ms since the start
	Weight     []float64 `json:"weight"`
	WeightType string    `json:"weightType"`
	CPU        []int64   `json:"threadCPUDelta"` // ns since the sample before
}

// Firefox writes the profile for the Firefox Profiler, with the value that is shown first. The counts of a thread in
// a stack are divided among the times at which it was there.
func (g *Graph) Firefox(w io.Writer, start time.Time, period time.Duration) error {
	out := firefoxFile{
		Meta: firefoxMeta{
			Interval: float64(period) / 1e6, StartTime: float64(start.UnixMicro()) / 1e3, Product: g.Title, Stackwalk: 1,
			Version: 24, Preprocessed: firefoxVersion, Symbolicated: true, OneStackType: true, NoFrameImpl: true, NoSearchfox: true,
			Extensions: newFirefoxTable("id", "name", "baseURL"),
			Categories: []firefoxCategory{
				{"Other", "grey", []string{"Other"}}, {"User", "yellow", []string{"Other"}},
				{"Kernel", "orange", []string{"Other"}}, {"Waiting", "blue", []string{"Other"}},
				{"Ready", "magenta", []string{"Other"}},
			},
			MarkerSchema: []any{},
			SampleUnits:  map[string]string{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
		},
		Libs: []any{}, Pages: []any{}, Threads: []*firefoxThread{},
	}
	byThread := make(map[int][]*cell)
	for i := range g.cells {
		c := &g.cells[i]
		byThread[c.thread] = append(byThread[c.thread], c)
	}
	starts := make(map[int]float64) // of processes
	for _, id := range slices.Sorted(maps.Keys(byThread)) {
		t, pid := g.firefoxThread(id, byThread[id]), g.threads[id].PID
		start, known := starts[pid]
		if t.IsMainThread = !known; !known {
			start = t.Registered
			starts[pid] = start
		}
		t.ProcessStart = start
		out.Threads = append(out.Threads, t)
	}
	return clean.Encode(w, out)
}

// firefoxSample is one line of the table of samples.
type firefoxSample struct {
	at     time.Duration
	node   Node
	ready  bool // it waited for a processor
	weight int64
	ran    time.Duration
}

func (g *Graph) firefoxThread(id int, cells []*cell) *firefoxThread {
	of := g.threads[id]
	t := &firefoxThread{
		ProcessType: "default", PausedRanges: []any{}, Name: of.Name, ProcessName: of.Process, PID: strconv.Itoa(of.PID), TID: of.TID,
		Markers:    newFirefoxTable("category", "data", "startTime", "endTime", "name", "phase"),
		StackTable: newFirefoxTable("frame", "prefix", "category", "subcategory"),
		FrameTable: newFirefoxTable("address", "inlineDepth", "category", "subcategory", "func",
			"nativeSymbol", "innerWindowID", "implementation", "line", "column", "optimizations"),
		FuncTable:     newFirefoxTable("name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber", "columnNumber"),
		ResourceTable: newFirefoxTable("name", "type", "lib", "host"),
		NativeSymbols: newFirefoxTable("libIndex", "address", "name", "functionSize"),
		Strings:       []string{},
		known: firefoxKnown{
			stacks: make(map[Node]int), ready: make(map[Node]int), frames: make(map[int32]firefoxFrame), resources: make(map[string]int), strings: make(map[string]int),
		},
	}
	t.Samples.WeightType = "samples"
	unit := 1.0
	if g.Values[g.Initial].Unit == Nanoseconds {
		t.Samples.WeightType, unit = "tracing-ms", 1e6
	}
	samples, end := g.firefoxSamples(id, cells)
	var ran time.Duration
	for _, s := range samples {
		stack := g.firefoxStack(t, s.node)
		if s.ready {
			stack = g.firefoxReady(t, s.node)
		}
		t.sample(s.at, &stack, float64(s.weight)/unit, ran)
		ran = s.ran
	}
	t.sample(end, nil, 0, ran) // where the last one ends
	t.Registered, t.Unregistered = t.Samples.Time[0], &t.Samples.Time[len(t.Samples.Time)-1]
	return t
}

// firefoxSamples returns the samples of a thread in the order of time, and when the last one ends.
func (g *Graph) firefoxSamples(id int, cells []*cell) (samples []firefoxSample, end time.Duration) {
	spans := g.spansOf(id)
	for _, s := range g.spans[id] {
		end = max(end, s.To)
	}
	for _, c := range cells {
		whole, all := c.values[g.Initial], time.Duration(0)
		for _, s := range spans[c.node] {
			all += s.To - s.From
		}
		given, until := int64(0), time.Duration(0)
		if all == 0 {
			if whole != 0 {
				at := end
				if of := spans[c.node]; len(of) > 0 {
					at = of[0].From // the moment at which it was met
				}
				samples = append(samples, firefoxSample{at: at, node: c.node, weight: whole})
			}
			continue
		}
		for _, s := range spans[c.node] {
			until += s.To - s.From
			share := int64(float64(whole)*(float64(until)/float64(all))) - given
			if until == all {
				share = whole - given
			}
			given += share
			sample := firefoxSample{at: s.From, node: c.node, ready: s.State == Ready, weight: share}
			if s.State == Running {
				sample.ran = s.To - s.From
			}
			samples = append(samples, sample)
		}
	}
	slices.SortStableFunc(samples, func(a, b firefoxSample) int { return cmp.Compare(a.at, b.at) })
	return samples, end
}

// spansOf returns the spans of a thread in each node. If processor time is shown, a span in which the thread waited for a
// processor has a part of it only if there is no other one.
func (g *Graph) spansOf(thread int) map[Node][]Span {
	spans, ready := make(map[Node][]Span), make(map[Node][]Span)
	for _, s := range g.spans[thread] {
		to := spans
		if s.State == Ready && g.Initial == 0 {
			to = ready
		}
		to[s.Node] = append(to[s.Node], s)
	}
	for n, of := range ready {
		if spans[n] == nil {
			spans[n] = of
		}
	}
	return spans
}

func (t *firefoxThread) sample(at time.Duration, stack *int, weight float64, ran time.Duration) {
	s := &t.Samples
	s.Length++
	s.Stack = append(s.Stack, stack)
	s.Time = append(s.Time, float64(at.Microseconds())/1e3)
	s.Weight = append(s.Weight, weight)
	s.CPU = append(s.CPU, int64(ran))
}

// firefoxStack returns the number of a node in the thread's table.
func (g *Graph) firefoxStack(t *firefoxThread, n Node) int {
	if i, ok := t.known.stacks[n]; ok {
		return i
	}
	var prefix any
	if caller := g.nodes[n].caller; caller > 0 {
		prefix = g.firefoxStack(t, caller)
	}
	frame := g.firefoxFrame(t, g.nodes[n].frame)
	t.known.stacks[n] = t.StackTable.add(frame.id, prefix, frame.category, 0)
	return t.known.stacks[n]
}

// firefoxReady returns the number of the stack of a thread that waits for a processor in a node.
func (g *Graph) firefoxReady(t *firefoxThread, n Node) int {
	below := g.firefoxStack(t, n)
	return intern.Value(t.known.ready, n, func() int {
		fn := t.FuncTable.add(t.str("[ready: waits for a processor]"), false, false, -1)
		return t.StackTable.add(t.FrameTable.add(-1, 0, firefoxReady, 0, fn), below, firefoxReady, 0)
	})
}

func (g *Graph) firefoxFrame(t *firefoxThread, id int32) firefoxFrame {
	if f, ok := t.known.frames[id]; ok {
		return f
	}
	frame := g.frames[id]
	category := [...]int{Code: firefoxUser, Kernel: firefoxKernel, Call: firefoxWaiting, Unknown: firefoxOther, Group: firefoxOther}[frame.Kind]
	resource := -1
	if frame.Object != "" {
		resource = t.resource(frame.Object)
	}
	fn := t.FuncTable.add(t.str(frame.Name), false, false, resource)
	t.known.frames[id] = firefoxFrame{t.FrameTable.add(-1, 0, category, 0, fn), category}
	return t.known.frames[id]
}

func (t *firefoxThread) resource(object string) int {
	return intern.Value(t.known.resources, object, func() int { return t.ResourceTable.add(t.str(object), 1) }) // a library
}

func (t *firefoxThread) str(s string) int { return intern.ID(t.known.strings, &t.Strings, s, s) }
