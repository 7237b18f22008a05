package calls

import (
	"cmp"
	"slices"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/unwind"
)

// A Node is the calls of a function that were made by the same path of functions that are counted: its callers. Functions on the
// stack that are not counted are left out.
type Node struct {
	*Target // nil for CutStack
	Rest    // of a root: calls whose callers are not known; None: they are
	Stats   // no calls: the function was on the stack, and none of its calls there was counted and has ended
	Self    time.Duration
	Unclear uint64 // calls that have ended whose part in Self is not known: it is not in there
	Callees []*Node
}

// A tree has the calls that have ended by their paths.
//
// The callers are those on the stack when the call ends. So recursion, exceptions, coroutines and goroutines mix no two paths. The
// time of a call is taken from that of the call which made it: it is kept by the place of the caller's return address until the
// caller ends too.
type tree struct {
	nodes  map[edge]*Node
	most   int // how many there may be
	roots  []*Node
	whole  map[*Target]*Stats // of all nodes of a function
	ranges []ownedRange       // of the functions, by address
	within map[activation]inner
	owners map[uint64]*Target // by program counters that were looked up
	full   uint64             // calls for whose paths there was no room
	lost   bool               // more was to be kept of activations than there is room for: no further part of Self is known
}

// edge is a node by its caller.
type edge struct {
	caller *Node
	target *Target
}

// ownedRange is code of a function.
type ownedRange struct {
	Range
	target *Target
}

// activation is the place of a call: the address of its return address, or in Go the distance of that from the outermost frame, and
// the goroutine; and the process.
type activation struct {
	slot, goroutine uint64
	pid             int
}

// inner is the calls that have ended of an activation that has not. First and last are when the first and the last of them
// began.
type inner struct {
	first, last, sum time.Duration
	calls            []made
}

// made is a call by an activation.
type made struct{ start, length time.Duration }

// Bounds of what is kept of activations that may never end. What has too many calls keeps their sum.
const (
	mostInner       = 1 << 10
	mostActivations = 1 << 17
)

func (t *tree) init(w *Watch) {
	t.most = cmp.Or(w.spec.most, perfevent.MostGroups)
	t.nodes, t.whole, t.within, t.owners = map[edge]*Node{}, map[*Target]*Stats{}, map[activation]inner{}, map[uint64]*Target{}
	for _, target := range w.numbered {
		bias := target.entry - target.Start
		for _, r := range append([]Range{target.Range}, target.Plan.Elsewhere...) {
			t.ranges = append(t.ranges, ownedRange{Range{r.Start + bias, r.End + bias}, target})
		}
	}
	slices.SortFunc(t.ranges, func(a, b ownedRange) int { return cmp.Compare(a.Start, b.Start) })
}

// owner returns the function that is counted which a frame is of, nil if none is.
func (t *tree) owner(f *StackPC) *Target {
	pc := f.PC
	if f.Return {
		pc--
	}
	target, ok := t.owners[pc]
	if !ok {
		i, exact := slices.BinarySearchFunc(t.ranges, pc, func(r ownedRange, pc uint64) int { return cmp.Compare(r.Start, pc) })
		if !exact {
			i--
		}
		if i >= 0 && t.ranges[i].Has(pc) && t.ranges[i].target.Err == nil {
			target = t.ranges[i].target
		}
		if len(t.owners) == mostActivations { // a JIT compiler makes ever new ones
			clear(t.owners)
		}
		t.owners[pc] = target
	}
	return target
}

// add adds a call that has ended, or one of a function whose ends are not seen.
func (t *tree) add(w *Watch, c *Call, r *perfevent.CallReport) {
	if t.nodes == nil {
		t.init(w)
	}
	frames, end := w.unwind(r)
	at, caller, ok := t.path(frames, end == unwind.Whole, c.Target)
	if !ok {
		t.full++
		return
	}
	if t.whole[c.Target] == nil {
		t.whole[c.Target] = &Stats{}
	}
	addCall(&at.Stats, r)
	addCall(t.whole[c.Target], r)
	if r.Values.Begun() {
		return
	}
	place := places{c.Convention != C, r.PID, r.Values, frames, end == unwind.Whole}
	t.self(at, &place, r)
	if caller > 0 {
		t.made(&place, caller, r)
	}
}

// path returns the node of a call of a function, and the frame of its caller, 0 if none is counted. It returns false if there is no
// room for it.
func (t *tree) path(frames []StackPC, whole bool, called *Target) (at *Node, caller int, ok bool) {
	ok = true
	if !whole {
		at, ok = t.node(nil, nil)
	}
	for i := len(frames) - 1; i > 0 && ok; i-- {
		if target := t.owner(&frames[i]); target != nil {
			caller = i
			at, ok = t.node(at, target)
		}
	}
	if ok {
		at, ok = t.node(at, called)
	}
	return at, caller, ok
}

// node returns a node, and makes it if it is the first call by this path. It returns false if there is no room. A nil target is that
// of stacks that are cut.
func (t *tree) node(caller *Node, target *Target) (*Node, bool) {
	n := t.nodes[edge{caller, target}]
	if n != nil || len(t.nodes) >= t.most {
		return n, n != nil
	}
	n = &Node{Target: target}
	t.nodes[edge{caller, target}] = n
	if target == nil {
		n.Rest = CutStack
	}
	if caller == nil {
		t.roots = append(t.roots, n)
	} else {
		caller.Callees = append(caller.Callees, n)
	}
	return n, true
}

// places finds the activations of a stack.
type places struct {
	goes   bool
	pid    int
	values *perfevent.CallValues
	frames []StackPC
	whole  bool
}

// at returns the activation of a frame, 0 for the call itself. It returns false if its place is not known.
func (p *places) at(frame int) (activation, bool) {
	if frame+1 >= len(p.frames) || p.goes && !p.whole {
		return activation{}, false
	}
	slot := p.frames[frame+1].SP - 8 // the stack pointer when the frame has returned is behind the address
	if !p.goes {
		return activation{slot: slot, pid: p.pid}, true
	}
	return activation{p.frames[len(p.frames)-1].SP - slot, p.values.Goroutine(), p.pid}, true
}

// made notes a call of the function whose frame is given.
func (t *tree) made(p *places, caller int, r *perfevent.CallReport) {
	at, ok := p.at(caller)
	if !ok {
		return
	}
	in, ok := t.within[at]
	if !ok && len(t.within) == mostActivations {
		clear(t.within)
		t.lost = true
	}
	start := r.Values.Start()
	in.calls = append(in.calls, made{start, r.Length})
	if len(in.calls) == mostInner {
		in.fold()
	}
	t.within[at] = in
}

// fold keeps the sum of the calls.
func (in *inner) fold() {
	for _, c := range in.calls {
		if in.sum == 0 {
			in.first = c.start
		}
		in.sum, in.last = in.sum+c.length, c.start
	}
	in.calls = in.calls[:0]
}

// self adds the time of a call without that of the calls which it has made.
func (t *tree) self(n *Node, p *places, r *perfevent.CallReport) {
	at, ok := p.at(0)
	if !ok || t.lost {
		n.Unclear++
		return
	}
	in := t.within[at]
	delete(t.within, at)
	start, self := r.Values.Start(), r.Length
	for _, c := range in.calls {
		if c.start >= start { // others were made by an earlier call that was in the same place
			self -= c.length
		}
	}
	switch {
	case in.sum > 0 && in.first >= start:
		self -= in.sum
	case in.sum > 0 && in.last >= start: // some of them
		n.Unclear++
		return
	}
	n.Self += self
}

// Tree returns the calls of functions that are called by no other that is counted, with those that they have made. The calls that
// have taken most time come first. Calls that have not ended, were left or came too fast are in roots of their own.
func (w *Watch) Tree() []*Node {
	whole := make([]Stats, len(w.numbered))
	w.Reports(nil)
	for i, t := range w.numbered {
		if t.Err == nil {
			w.kernel.Read(i, &whole[i])
		}
	}
	w.Reports(nil) // of those that ended meanwhile
	roots := slices.Clone(w.tree.roots)
	for i, t := range w.numbered {
		s := whole[i]
		if ended := w.tree.whole[t]; ended != nil {
			s = rest(&whole[i], ended)
		}
		if s.Calls > 0 {
			roots = append(roots, &Node{Target: t, Rest: NoStack, Stats: s})
		}
	}
	sortNodes(roots)
	return roots
}

// WholeTree returns the calls of each function, by all paths.
func WholeTree(nodes []*Node) map[*Target]*Stats {
	all := map[*Target]*Stats{}
	var add func(nodes []*Node)
	add = func(nodes []*Node) {
		for _, n := range nodes {
			if n.Calls > 0 {
				if all[n.Target] == nil {
					all[n.Target] = &Stats{}
				}
				Merge(all[n.Target], &n.Stats)
			}
			add(n.Callees)
		}
	}
	add(nodes)
	return all
}

// Cut returns how many calls have a stack of which the outer part is not known.
func (w *Watch) Cut() (n uint64) {
	for _, root := range w.tree.roots {
		if root.Rest == CutStack {
			for _, s := range WholeTree(root.Callees) {
				n += s.Calls
			}
		}
	}
	return n
}

// Full returns how many calls are not in the tree because there was no room for their paths.
func (w *Watch) Full() uint64 { return w.tree.full }

// sortNodes orders nodes, and their callees.
func sortNodes(nodes []*Node) {
	for _, n := range nodes {
		sortNodes(n.Callees)
	}
	slices.SortStableFunc(nodes, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.name(), b.name()))
	})
}

// weight is the time of a node, or of its callees where calls that are open have made them.
func (n *Node) weight() time.Duration {
	callees := time.Duration(0)
	for _, c := range n.Callees {
		callees += c.weight()
	}
	return max(n.Sum, callees)
}

func (n *Node) name() string {
	if n.Target == nil {
		return ""
	}
	return n.Name
}
