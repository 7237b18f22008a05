package flame

import (
	"cmp"
	"maps"
	"slices"

	"ptools/internal/intern"
)

// document is the data of the page, as compact as JSON allows: a string table, and the tree as arrays in
// depth-first order, where the depths alone give the structure. Cells are sorted by node. Each has the
// difference between its node's number and the one before.
type document struct {
	Title     string      `json:"title"`
	About     []string    `json:"about"`
	Values    []docValue  `json:"values"`
	Initial   int         `json:"initial"`
	Live      float64     `json:"live,omitempty"` // seconds until the page asks for a later state
	Strings   []string    `json:"strings"`
	Frames    []int       `json:"frames"` // name, object, kind of each; strings by index
	Rows      []int       `json:"rows"`   // function, call of each; frames by index, -1 for none
	Depths    []int       `json:"depths"` // of each node but the root
	Nodes     []int       `json:"nodes"`  // frame of each
	Calls     []int       `json:"calls"`  // node and row of each node that has a row of its own
	Threads   []docThread `json:"threads"`
	CellNodes []int       `json:"cellNodes"`
	CellOf    []int       `json:"cellThreads"`
	Counts    [][]int64   `json:"counts"`             // of each value, by cell
	Compared  bool        `json:"compared,omitempty"` // counts has further ones: those of an earlier profile
	Timeline  []docLane   `json:"timeline,omitempty"`
}

type docValue struct {
	Name string `json:"name"`
	Time bool   `json:"time"` // in nanoseconds
}

type docThread struct {
	PID     int    `json:"pid"`
	TID     int    `json:"tid"`
	Name    string `json:"name"`
	Process string `json:"process"`
}

// docLane is the timeline of a thread. It has three numbers for each span: the microseconds since the span before,
// the length, and four times the node, plus the state.
type docLane struct {
	Thread int   `json:"thread"`
	Spans  []int `json:"spans"`
}

// document numbers everything by the order of names, so that the result depends on the contents alone.
func (g *Graph) document() *document {
	d := &document{
		Title: g.Title, About: append([]string{}, g.About...), Initial: g.Initial, Live: g.Live.Seconds(),
		Values: []docValue{}, Strings: []string{}, Frames: []int{}, Rows: []int{}, Depths: []int{}, Nodes: []int{},
		Calls: []int{}, Threads: []docThread{}, CellNodes: []int{}, CellOf: []int{},
		Counts: make([][]int64, len(g.Values)),
	}
	for i, v := range g.Values {
		d.Counts[i] = []int64{}
		if !g.Compared || i < len(g.Values)/2 {
			d.Values = append(d.Values, docValue{v.Name, v.Unit == Nanoseconds})
		}
	}
	d.Compared = g.Compared
	for _, t := range g.threads {
		d.Threads = append(d.Threads, docThread(t))
	}
	rank := g.frameRanks()
	d.addFrames(g, rank)
	place := d.addNodes(g, rank)
	d.addCells(g, place)
	d.addTimeline(g, place)
	return d
}

func (d *document) addFrames(g *Graph, rank []int) {
	strings := make(map[string]int)
	str := func(s string) int { return intern.ID(strings, &d.Strings, s, s) }
	sorted := make([]Frame, len(g.frames))
	for i, f := range g.frames {
		sorted[rank[i]] = f
	}
	for _, f := range sorted {
		d.Frames = append(d.Frames, str(f.Name), str(f.Object), int(f.Kind))
	}
}

// addNodes returns the number of each node in the document.
func (d *document) addNodes(g *Graph, rank []int) []int {
	place := make([]int, len(g.nodes))
	rows := make(map[int32]int)
	nodes, depths := g.ordered()
	for i, id := range nodes {
		n := g.nodes[id]
		place[id] = i + 1
		d.Nodes = append(d.Nodes, rank[n.frame])
		if n.row < 0 {
			continue
		}
		row, ok := rows[n.row]
		if !ok {
			row = len(d.Rows) / 2
			rows[n.row] = row
			call := -1
			if c := g.rows[n.row].call; c >= 0 {
				call = rank[c]
			}
			d.Rows = append(d.Rows, rank[g.rows[n.row].function], call)
		}
		d.Calls = append(d.Calls, i+1, row)
	}
	d.Depths = append(d.Depths, depths...)
	return place
}

func (d *document) addCells(g *Graph, place []int) {
	cells := make([]*cell, len(g.cells))
	for i := range g.cells {
		cells[i] = &g.cells[i]
	}
	slices.SortFunc(cells, func(a, b *cell) int {
		return cmp.Or(cmp.Compare(place[a.node], place[b.node]), cmp.Compare(a.thread, b.thread))
	})
	last := 0
	for _, c := range cells {
		d.CellNodes = append(d.CellNodes, place[c.node]-last)
		last = place[c.node]
		d.CellOf = append(d.CellOf, c.thread)
		for v, n := range c.values {
			d.Counts[v] = append(d.Counts[v], n)
		}
	}
}

func (d *document) addTimeline(g *Graph, place []int) {
	for _, thread := range slices.Sorted(maps.Keys(g.spans)) {
		lane, last := docLane{Thread: thread, Spans: []int{}}, 0
		spans := slices.SortedStableFunc(slices.Values(g.spans[thread]), func(a, b Span) int { return cmp.Compare(a.From, b.From) })
		for _, s := range spans {
			from, to := max(int(s.From.Microseconds()), last), int(s.To.Microseconds())
			if to <= from {
				continue
			}
			lane.Spans = append(lane.Spans, from-last, to-from, 4*place[s.Node]+int(s.State))
			last = to
		}
		d.Timeline = append(d.Timeline, lane)
	}
}
