package flame

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

// firefoxVersion is that of the processed profile format of the Firefox Profiler, which reads all older ones.
const firefoxVersion = 47

// The categories of frames, by index.
const (
	firefoxOther = iota
	firefoxUser
	firefoxKernel
	firefoxWaiting
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
	Extensions   firefoxExtensions `json:"extensions"`
	Categories   []firefoxCategory `json:"categories"`
	MarkerSchema []any             `json:"markerSchema"`
	SampleUnits  map[string]string `json:"sampleUnits"`
}

type firefoxExtensions struct {
	Length int   `json:"length"`
	BaseID []any `json:"id"`
	Name   []any `json:"name"`
	URL    []any `json:"baseURL"`
}

type firefoxCategory struct {
	Name          string   `json:"name"`
	Color         string   `json:"color"`
	Subcategories []string `json:"subcategories"`
}

type firefoxThread struct {
	ProcessType    string           `json:"processType"`
	ProcessStart   float64          `json:"processStartupTime"`
	ProcessEnd     *float64         `json:"processShutdownTime"`
	Registered     float64          `json:"registerTime"`
	Unregistered   *float64         `json:"unregisterTime"`
	PausedRanges   []any            `json:"pausedRanges"`
	Name           string           `json:"name"`
	ProcessName    string           `json:"processName"`
	IsMainThread   bool             `json:"isMainThread"`
	PID            string           `json:"pid"`
	TID            int              `json:"tid"`
	Samples        firefoxSamples   `json:"samples"`
	Markers        firefoxMarkers   `json:"markers"`
	StackTable     firefoxStacks    `json:"stackTable"`
	FrameTable     firefoxFrames    `json:"frameTable"`
	FuncTable      firefoxFuncs     `json:"funcTable"`
	ResourceTable  firefoxResources `json:"resourceTable"`
	NativeSymbols  firefoxSymbols   `json:"nativeSymbols"`
	Strings        []string         `json:"stringArray"`
	stacks         map[Node]int
	frames         map[int32]int
	resources      map[string]int
	stringsByValue map[string]int
}

// firefoxSamples has the samples of a thread by time. The weight is what the sample counts, in ms or a number.
type firefoxSamples struct {
	Length     int       `json:"length"`
	Stack      []*int    `json:"stack"`
	Time       []float64 `json:"time"` // ms since the start
	Weight     []float64 `json:"weight"`
	WeightType string    `json:"weightType"`
	CPU        []int64   `json:"threadCPUDelta"` // ns since the sample before
}

type firefoxMarkers struct {
	Length   int   `json:"length"`
	Category []any `json:"category"`
	Data     []any `json:"data"`
	Start    []any `json:"startTime"`
	End      []any `json:"endTime"`
	Name     []any `json:"name"`
	Phase    []any `json:"phase"`
}

type firefoxStacks struct {
	Length      int    `json:"length"`
	Frame       []int  `json:"frame"`
	Prefix      []*int `json:"prefix"`
	Category    []int  `json:"category"`
	Subcategory []int  `json:"subcategory"`
}

type firefoxFrames struct {
	Length         int   `json:"length"`
	Address        []int `json:"address"`
	InlineDepth    []int `json:"inlineDepth"`
	Category       []int `json:"category"`
	Subcategory    []int `json:"subcategory"`
	Func           []int `json:"func"`
	NativeSymbol   []any `json:"nativeSymbol"`
	InnerWindow    []any `json:"innerWindowID"`
	Implementation []any `json:"implementation"`
	Line           []any `json:"line"`
	Column         []any `json:"column"`
	Optimizations  []any `json:"optimizations"`
}

type firefoxFuncs struct {
	Length     int    `json:"length"`
	Name       []int  `json:"name"`
	IsJS       []bool `json:"isJS"`
	ForJS      []bool `json:"relevantForJS"`
	Resource   []int  `json:"resource"`
	FileName   []any  `json:"fileName"`
	LineNumber []any  `json:"lineNumber"`
	Column     []any  `json:"columnNumber"`
}

type firefoxResources struct {
	Length int   `json:"length"`
	Lib    []any `json:"lib"`
	Name   []int `json:"name"`
	Host   []any `json:"host"`
	Type   []int `json:"type"`
}

type firefoxSymbols struct {
	Length  int   `json:"length"`
	Lib     []any `json:"libIndex"`
	Address []any `json:"address"`
	Name    []any `json:"name"`
	Size    []any `json:"functionSize"`
}

// Firefox writes the profile for the Firefox Profiler, with the value that is shown first: what each thread counts is
// divided among the times at which it was in that stack.
func (g *Graph) Firefox(w io.Writer, start time.Time, period time.Duration) error {
	out := firefoxFile{
		Meta: firefoxMeta{
			Interval: float64(period) / 1e6, StartTime: float64(start.UnixMicro()) / 1e3, Product: g.Title, Stackwalk: 1,
			Version: 24, Preprocessed: firefoxVersion, Symbolicated: true, OneStackType: true, NoFrameImpl: true, NoSearchfox: true,
			Extensions: firefoxExtensions{BaseID: []any{}, Name: []any{}, URL: []any{}},
			Categories: []firefoxCategory{
				{"Other", "grey", []string{"Other"}}, {"User", "yellow", []string{"Other"}},
				{"Kernel", "orange", []string{"Other"}}, {"Waiting", "blue", []string{"Other"}},
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
	main := make(map[int]bool)
	for _, id := range slices.Sorted(maps.Keys(byThread)) {
		t := g.firefoxThread(id, byThread[id])
		t.IsMainThread = !main[g.threads[id].PID]
		main[g.threads[id].PID] = true
		out.Threads = append(out.Threads, t)
	}
	return json.NewEncoder(w).Encode(out)
}

// firefoxSample is one line of the table of samples.
type firefoxSample struct {
	at     time.Duration
	node   Node
	weight int64
	ran    time.Duration
}

func (g *Graph) firefoxThread(id int, cells []*cell) *firefoxThread {
	of := g.threads[id]
	t := &firefoxThread{
		ProcessType: "default", PausedRanges: []any{}, Name: of.Name, ProcessName: of.Process, PID: strconv.Itoa(of.PID), TID: of.TID,
		Markers:       firefoxMarkers{0, []any{}, []any{}, []any{}, []any{}, []any{}, []any{}},
		NativeSymbols: firefoxSymbols{0, []any{}, []any{}, []any{}, []any{}},
		Strings:       []string{}, stacks: make(map[Node]int), frames: make(map[int32]int), resources: make(map[string]int), stringsByValue: make(map[string]int),
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
		t.sample(s.at, &stack, float64(s.weight)/unit, ran)
		ran = s.ran
	}
	t.sample(end, nil, 0, ran) // where the last one ends
	return t
}

// firefoxSamples returns the samples of a thread in the order of time, and when the last one ends.
func (g *Graph) firefoxSamples(id int, cells []*cell) (samples []firefoxSample, end time.Duration) {
	spans := make(map[Node][]Span)
	for _, s := range g.spans[id] {
		spans[s.Node] = append(spans[s.Node], s)
		end = max(end, s.To)
	}
	for _, c := range cells {
		whole, all := c.values[g.Initial], time.Duration(0)
		for _, s := range spans[c.node] {
			all += s.To - s.From
		}
		given, until := int64(0), time.Duration(0)
		for _, s := range spans[c.node] {
			until += s.To - s.From
			share := int64(float64(whole)*(float64(until)/float64(all))) - given
			if until == all {
				share = whole - given
			}
			given += share
			sample := firefoxSample{at: s.From, node: c.node, weight: share}
			if s.Ran {
				sample.ran = s.To - s.From
			}
			samples = append(samples, sample)
		}
		if all == 0 && whole != 0 {
			samples = append(samples, firefoxSample{at: end, node: c.node, weight: whole})
		}
	}
	slices.SortStableFunc(samples, func(a, b firefoxSample) int { return cmp.Compare(a.at, b.at) })
	return samples, end
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
	if i, ok := t.stacks[n]; ok {
		return i
	}
	var prefix *int
	if caller := g.nodes[n].caller; caller > 0 {
		i := g.firefoxStack(t, caller)
		prefix = &i
	}
	frame := g.firefoxFrame(t, g.nodes[n].frame)
	s := &t.StackTable
	i := s.Length
	s.Length++
	s.Frame, s.Prefix = append(s.Frame, frame), append(s.Prefix, prefix)
	s.Category, s.Subcategory = append(s.Category, t.FrameTable.Category[frame]), append(s.Subcategory, 0)
	t.stacks[n] = i
	return i
}

func (g *Graph) firefoxFrame(t *firefoxThread, id int32) int {
	if i, ok := t.frames[id]; ok {
		return i
	}
	frame := g.frames[id]
	category := [...]int{Code: firefoxUser, Kernel: firefoxKernel, Call: firefoxWaiting, Unknown: firefoxOther}[frame.Kind]
	resource := -1
	if frame.Object != "" {
		resource = t.resource(frame.Object)
	}
	i := t.FuncTable.Length
	fn := &t.FuncTable
	fn.Length++
	fn.Name, fn.IsJS, fn.ForJS = append(fn.Name, t.str(frame.Name)), append(fn.IsJS, false), append(fn.ForJS, false)
	fn.Resource, fn.FileName = append(fn.Resource, resource), append(fn.FileName, nil)
	fn.LineNumber, fn.Column = append(fn.LineNumber, nil), append(fn.Column, nil)
	f := &t.FrameTable
	f.Length++
	f.Address, f.InlineDepth = append(f.Address, -1), append(f.InlineDepth, 0)
	f.Category, f.Subcategory, f.Func = append(f.Category, category), append(f.Subcategory, 0), append(f.Func, i)
	for _, column := range []*[]any{&f.NativeSymbol, &f.InnerWindow, &f.Implementation, &f.Line, &f.Column, &f.Optimizations} {
		*column = append(*column, nil)
	}
	t.frames[id] = i
	return i
}

func (t *firefoxThread) resource(object string) int {
	i, ok := t.resources[object]
	if !ok {
		r := &t.ResourceTable
		i = r.Length
		r.Length++
		r.Lib, r.Name = append(r.Lib, nil), append(r.Name, t.str(object))
		r.Host, r.Type = append(r.Host, nil), append(r.Type, 1) // a library
		t.resources[object] = i
	}
	return i
}

func (t *firefoxThread) str(s string) int {
	i, ok := t.stringsByValue[s]
	if !ok {
		i = len(t.Strings)
		t.Strings = append(t.Strings, s)
		t.stringsByValue[s] = i
	}
	return i
}
