package profile

import (
	"io"
	"slices"
	"strings"

	"ptools/internal/flame"
	"ptools/internal/intern"
)

// writeHTML writes a page with flame graphs of all values.
func writeHTML(p *Profile, w io.Writer, o *Options) error { return p.graph(o).HTML(w) }

// WritePageData writes the data that a page with Options.Live asks for: a later state of the profile.
func (p *Profile) WritePageData(w io.Writer, o *Options) error { return p.graph(o).Data(w) }

// graphValues are the values of a profile of time, in the order in which they are offered.
var graphValues = []Value{CPU, Wall, Samples, Ready, Goroutines}

// writeSVG writes a flame graph of one value.
func writeSVG(p *Profile, w io.Writer, o *Options) error { return p.graph(o).SVG(w) }

// writeFirefox writes the format of the Firefox Profiler: one value, in the order of time.
func writeFirefox(p *Profile, w io.Writer, o *Options) error {
	return p.graph(o).Firefox(w, p.Start, p.Period)
}

// graph returns the profile as a tree of functions. A system call is a function there. In tables it counts as in
// the text output: as part of its caller.
func (p *Profile) graph(o *Options) *flame.Graph {
	if p.Subject == Contention {
		return p.blameGraph(o)
	}
	g := flame.New()
	g.Title, g.About = p.about()
	g.Live = o.Live
	counts := func(c *cell) []int64 { return []int64{c.CPU, c.Wall, c.Samples, c.Ready} }
	g.Values = graphed(p)
	if p.Goroutines.any() {
		counts = func(c *cell) []int64 { return []int64{c.CPU, c.Wall, c.Samples, c.Ready, c.Goroutines} }
	}
	switch p.Subject {
	case ThreadCreate:
		counts = func(c *cell) []int64 { return []int64{c.Samples} }
	case Calls:
		counts = func(c *cell) []int64 { return []int64{c.Samples, c.Wall, drawn(p, c, Sum)}[:len(g.Values)] }
		g.Initial = max(slices.Index(callValues[:len(g.Values)], o.Value), 0)
	default:
		g.Initial = max(slices.Index(graphValues[:len(g.Values)], o.Value), 0)
	}
	b := newGraphBuilder(p, o, g)
	b.counts = counts
	for _, s := range p.finish() {
		b.space(s)
	}
	return g
}

// graphed returns what a graph of the profile counts.
func graphed(p *Profile) []flame.Value {
	if p.Subject == ThreadCreate {
		return []flame.Value{{Name: "threads created"}}
	}
	if p.Subject == Calls {
		return p.Called.graphed()
	}
	values := []flame.Value{{Name: "processor", Unit: flame.Nanoseconds}, {Name: "wall", Unit: flame.Nanoseconds}, {Name: "samples"},
		{Name: "ready", Unit: flame.Nanoseconds}}
	if p.Goroutines.any() {
		values = append(values, flame.Value{Name: "goroutines", Unit: flame.Nanoseconds})
	}
	return values
}

// blameGraph returns the graph of a profile of waiting. It has the same time twice: by the stacks of the threads
// that held the locks, and by those of the threads that waited.
func (p *Profile) blameGraph(o *Options) *flame.Graph {
	g := flame.New()
	g.Title, g.About = p.about()
	g.Live = o.Live
	g.Values = []flame.Value{{Name: "holders", Unit: flame.Nanoseconds}, {Name: "waiters", Unit: flame.Nanoseconds}, {Name: "waits"}}
	if o.Value == Samples {
		g.Initial = 2
	}
	b := newGraphBuilder(p, o, g)
	b.counts = func(c *cell) []int64 { return []int64{c.Wall, 0, c.Samples} }
	for _, s := range p.finish() {
		b.space(s)
	}
	b.counts = func(c *cell) []int64 { return []int64{0, c.Wall, 0} }
	for _, s := range p.waiters.finish() {
		b.space(s)
	}
	return g
}

// about returns what was sampled, and lines that say how.
func (p *Profile) about() (title string, lines []string) {
	var b strings.Builder
	writeHead(p, &b)
	title = subjectsOf(p)
	head := strings.TrimSuffix(strings.TrimPrefix(b.String(), title+": "), callsNote+"\n") // calls have boxes of their own
	return title, strings.Split(strings.TrimSpace(head), "\n")
}

type graphBuilder struct {
	profile   *Profile
	options   *Options
	graph     *flame.Graph
	counts    func(*cell) []int64 // values of the graph
	threads   map[ThreadID]int
	processes map[int]string
	compared  bool // with another profile: threads are taken together, and files known by their base names
}

func newGraphBuilder(p *Profile, o *Options, g *flame.Graph) *graphBuilder {
	b := &graphBuilder{profile: p, options: o, graph: g, threads: make(map[ThreadID]int), processes: make(map[int]string)}
	for _, pr := range programsOf(p) {
		b.processes[pr.pid] = pr.name()
	}
	return b
}

// level is a location in the form of the graph.
type level struct {
	frames []flame.Frame // outermost first
	labels []label       // innermost first
	call   string        // the system call that it stands for
}

func (b *graphBuilder) space(s *Space) {
	levels := make([]*level, len(s.locs))
	roots := make(map[flame.Node][]flame.Node) // the nodes of stacks, by their root
	for _, c := range s.ordered() {
		nodes := b.rooted(s, c.thread, roots)
		node := b.node(s, c.stack, levels, nodes)
		if c.stack == 0 {
			node = b.graph.Child(node, flame.Frame{Name: unknown, Kind: flame.Unknown}, nil)
		}
		b.graph.Add(node, b.thread(c.thread), b.counts(c))
	}
	if b.compared {
		return
	}
	s.sortSpans()
	for _, sp := range s.spans {
		c := &s.cells[sp.cell]
		if node := b.node(s, c.stack, levels, b.rooted(s, c.thread, roots)); c.stack != 0 {
			b.graph.Span(b.thread(c.thread), flame.Span{Node: node, From: sp.from, To: sp.to, State: stateOf(s, &sp)})
		}
	}
}

// stateOf returns what a thread did in a span.
func stateOf(s *Space, sp *span) flame.State {
	switch {
	case sp.state == ready:
		return flame.Ready
	case s.runs(sp):
		return flame.Running
	}
	return flame.Waiting
}

// rooted returns the nodes of a space's stacks, below the root of a thread. In a profile of a tree the root is the
// process or the command.
func (b *graphBuilder) rooted(s *Space, id ThreadID, roots map[flame.Node][]flame.Node) []flame.Node {
	var at flame.Node
	for _, l := range b.profile.root(b.profile.threads[id], b.options, nil) {
		at = b.graph.Child(at, flame.Frame{Name: l.name, Kind: flame.Group}, nil)
	}
	nodes := roots[at]
	if nodes == nil {
		nodes = make([]flame.Node, len(s.nodes))
		nodes[0] = at // of the empty stack
		roots[at] = nodes
	}
	return nodes
}

// node returns the node of a stack.
func (b *graphBuilder) node(s *Space, stack StackID, levels []*level, nodes []flame.Node) flame.Node {
	if stack == 0 || nodes[stack] != 0 {
		return nodes[stack]
	}
	n := s.nodes[stack]
	at := b.node(s, n.caller, levels, nodes)
	l := b.level(s, n.loc, levels)
	var row *flame.Row
	if l.call != "" && n.caller != 0 {
		if caller := b.level(s, s.nodes[n.caller].loc, levels); caller.call == "" {
			row = &flame.Row{Function: caller.frames[len(caller.frames)-1]}
			if !sameCall(caller.labels[0].name, l.call) {
				row.Call = l.frames[0]
			}
		}
	}
	for _, f := range l.frames {
		at = b.graph.Child(at, f, row)
	}
	nodes[stack] = at
	return at
}

func (b *graphBuilder) level(s *Space, loc uint32, levels []*level) *level {
	if levels[loc] != nil {
		return levels[loc]
	}
	l := &s.locs[loc]
	v := &level{labels: s.locationLabels(l, b.options, nil), call: s.callNote(l)}
	for i := len(v.labels) - 1; i >= 0; i-- {
		f := flame.Frame{Name: v.labels[i].name, Object: v.labels[i].object}
		if b.compared {
			f.Object = baseName(f.Object)
		}
		switch {
		case v.call != "":
			f.Kind = flame.Call
		case l.addr.Kind == note:
			f.Kind = flame.Kernel
		case f.Name == unknown:
			f.Kind = flame.Unknown
		}
		v.frames = append(v.frames, f)
	}
	levels[loc] = v
	return v
}

func (b *graphBuilder) thread(id ThreadID) int {
	if b.compared {
		return 0
	}
	return intern.Value(b.threads, id, func() int {
		t := b.profile.threads[id]
		process := b.processes[t.pid]
		if t.process != 0 {
			process = b.profile.processes[t.process-1].Command
		}
		return b.graph.Thread(flame.Thread{PID: t.pid, TID: t.tid, Name: t.name, Process: process})
	})
}
