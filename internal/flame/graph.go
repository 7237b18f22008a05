package flame

import (
	"cmp"
	"slices"
	"time"

	"ptools/internal/intern"
)

// Kind says what a frame is. It decides the colour.
type Kind uint8

const (
	Code    Kind = iota // a function of the program
	Kernel              // a function of the kernel
	Call                // a system call, or another state of a thread: "[futex]"
	Unknown             // code without a name
	Group               // no function: a process, which stands at the root of the stacks of its threads
)

// Frame is a function. Two frames are the same if all their fields are.
type Frame struct {
	Name   string
	Object string // path of the file that holds the code; empty if there is none
	Kind   Kind
}

// Thread is one thread of a process.
type Thread struct {
	PID, TID int    // TID 0: several threads
	Name     string // of the thread
	Process  string // name of the program
}

// Value is something that is counted.
type Value struct {
	Name string // as the page shows it
	Unit Unit
}

// Unit is what a value is measured in.
type Unit uint8

const (
	Count       Unit = iota // a number
	Nanoseconds             // a time
)

// Node names a node of a graph. 0 is the root.
type Node int32

// Row is the row of a table in which a node counts, if that is not the row of its frame: a system call counts as
// part of the function that makes it.
type Row struct {
	Function, Call Frame // Call is the zero Frame where the function has the call's name
}

// Graph is a tree of functions with the counts of threads. The exported fields may be set at any time.
type Graph struct {
	Title   string   // what was sampled, in a few words
	About   []string // how it was sampled, in lines
	Values  []Value
	Initial int // index of the value that is shown first
	// Compared: the second half of Values is what an earlier profile counted, stretched to the same sums.
	Compared bool
	Live     time.Duration // the time after which the page asks its server for a later state; 0: this is the last

	threads  []Thread
	frames   []Frame
	frameIDs map[Frame]int32
	nodes    []node
	nodeIDs  map[edge]Node
	rows     []rowIDs
	rowIDs   map[rowIDs]int32
	cells    []cell
	cellIDs  map[cellKey]int
	spans    map[int][]Span  // by thread
	goFiles  map[string]bool // see isGo
}

type node struct {
	edge
	row int32 // index in rows, -1 for the frame's own
}

type edge struct {
	caller Node
	frame  int32
}

// rowIDs is a Row by the numbers of its frames; call is -1 for none.
type rowIDs struct{ function, call int32 }

type cellKey struct {
	node   Node
	thread int
}

type cell struct {
	cellKey
	values []int64
}

// New returns an empty graph.
func New() *Graph {
	return &Graph{
		frameIDs: make(map[Frame]int32),
		nodes:    []node{{edge{-1, -1}, -1}},
		nodeIDs:  make(map[edge]Node),
		rowIDs:   make(map[rowIDs]int32),
		cellIDs:  make(map[cellKey]int),
	}
}

// Thread adds a thread and returns its number.
func (g *Graph) Thread(t Thread) int {
	g.threads = append(g.threads, t)
	return len(g.threads) - 1
}

func (g *Graph) frame(f Frame) int32 { return intern.ID(g.frameIDs, &g.frames, f, f) }

// Child returns the node for f, called by caller. A row that is not nil is the row in which the node counts in
// tables. All calls with this caller and f must give the same row.
func (g *Graph) Child(caller Node, f Frame, row *Row) Node {
	e := edge{caller, g.frame(f)}
	return intern.Value(g.nodeIDs, e, func() Node {
		n := node{edge: e, row: -1}
		if row != nil {
			n.row = g.row(row)
		}
		g.nodes = append(g.nodes, n)
		return Node(len(g.nodes) - 1)
	})
}

func (g *Graph) row(r *Row) int32 {
	k := rowIDs{g.frame(r.Function), -1}
	if r.Call != (Frame{}) {
		k.call = g.frame(r.Call)
	}
	return intern.ID(g.rowIDs, &g.rows, k, k)
}

// Add counts values, in the order of g.Values, for a thread whose innermost function is the node.
func (g *Graph) Add(n Node, thread int, values []int64) {
	k := cellKey{n, thread}
	i, ok := g.cellIDs[k]
	if !ok {
		i = len(g.cells)
		g.cells = append(g.cells, cell{k, make([]int64, len(g.Values))})
		g.cellIDs[k] = i
	}
	for v, n := range values {
		g.cells[i].values[v] += n
	}
}

// Span is a time that a thread has spent in one stack.
type Span struct {
	Node     Node
	From, To time.Duration // since the start
	State    State
}

// State is what a thread did in a span.
type State uint8

const (
	Waiting State = iota // in a system call
	Running              // on a processor, as far as is known
	Ready                // it waited for a processor
)

// Span adds a span of a thread, which may not overlap others. A span of no length is the moment at which the thread was
// met in the stack.
func (g *Graph) Span(thread int, s Span) {
	if g.spans == nil {
		g.spans = make(map[int][]Span)
	}
	g.spans[thread] = append(g.spans[thread], s)
}

// sums returns, for each node, the sum of a value over the node and those below it.
func (g *Graph) sums(value int) []int64 {
	sums := make([]int64, len(g.nodes))
	for _, c := range g.cells {
		sums[c.node] += c.values[value]
	}
	for n := len(g.nodes) - 1; n > 0; n-- { // a caller is older than its callees
		sums[g.nodes[n].caller] += sums[n]
	}
	return sums
}

// change returns by which part of the larger share a node has grown since the earlier profile: 1 if it is new, -1 if it is
// gone. now and before are the sums of the values.
func change(now, before int64) float64 {
	if larger := max(now, before); larger > 0 {
		return float64(now-before) / float64(larger)
	}
	return 0
}

// ordered returns the nodes except the root, depth first, siblings by name. depths has the depth of each:
// 1 for those below the root.
func (g *Graph) ordered() (nodes []Node, depths []int) {
	rank := g.frameRanks()
	byCaller := make([]Node, 0, len(g.nodes)-1)
	for id := 1; id < len(g.nodes); id++ {
		byCaller = append(byCaller, Node(id))
	}
	slices.SortFunc(byCaller, func(a, b Node) int {
		x, y := &g.nodes[a], &g.nodes[b]
		return cmp.Or(cmp.Compare(x.caller, y.caller), cmp.Compare(rank[x.frame], rank[y.frame]))
	})
	first := make([]int, len(g.nodes)+1) // where the callees of a node begin
	for _, id := range byCaller {
		first[g.nodes[id].caller+1]++
	}
	for i := 1; i < len(first); i++ {
		first[i] += first[i-1]
	}
	type entry struct {
		node  Node
		depth int
	}
	todo := []entry{{0, 0}}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if e.node != 0 {
			nodes, depths = append(nodes, e.node), append(depths, e.depth)
		}
		for i := first[e.node+1] - 1; i >= first[e.node]; i-- {
			todo = append(todo, entry{byCaller[i], e.depth + 1})
		}
	}
	return nodes, depths
}

// frameRanks returns the place of each frame in the order of their names.
func (g *Graph) frameRanks() []int {
	order := make([]int, len(g.frames))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return compareFrames(g.frames[i], g.frames[j]) })
	rank := make([]int, len(order))
	for place, i := range order {
		rank[i] = place
	}
	return rank
}

func compareFrames(a, b Frame) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Kind, b.Kind))
}
