package calls

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// paths reads what a target has counted by paths.
func paths(t *testing.T, target *ptest.Target, rounds int) map[string]uint64 {
	t.Helper()
	fmt.Fprintln(target.Stdin, rounds)
	all := map[string]uint64{}
	for {
		line := target.Line()
		if line == "end" {
			return all
		}
		var path string
		var n uint64
		if _, err := fmt.Sscan(line, &path, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[path] = n
	}
}

// endless are the functions some calls of which do not end while they are counted: they are left, or coroutines are in them.
var endless = []string{"thrower", "jumper", "yielder", "main.panics", "main.exits"}

// TestTree compares the calls by each path with those that the targets have counted, and the time of each path with that of its
// callees.
func TestTree(t *testing.T) {
	c, goes := ptest.BuildC(t, "testdata/trees.cc", "-O2", "-pthread"), ptest.BuildGo(t, "testdata/gotrees.go")
	for program, names := range map[string]string{
		c:    "serve catcher thrower lander jumper deep even odd tail yielder resume interrupted handled inner",
		goes: "main.inner main.grow main.panics main.recovers main.exits main.yields main.handle",
	} {
		t.Run(path.Base(program), func(t *testing.T) {
			target := ptest.Start(t, program)
			target.Ready()
			paths(t, target, 12)
			w := watchSpec(t, target.PID, path.Base(program), Spec{By: ByPath()}, strings.Fields(names)...)
			w.Begin()
			want := map[string]uint64{}
			for range ptest.Rounds(2, 6, 300) { // each time as many calls as there is room for
				for p, n := range paths(t, target, 2) {
					want[p] += n
				}
				w.Reports(nil)
			}
			w.End()
			got, left := map[string]uint64{}, map[string]Stats{}
			flatten(t, w.Tree(), nil, got, left)
			for _, p := range slices.Sorted(maps.Keys(want)) {
				if got[p] != want[p] {
					t.Errorf("%s: %d calls, and %d by the target's count", p, got[p], want[p])
				}
				delete(got, p)
			}
			for p, n := range got {
				if n > 0 {
					t.Errorf("%s: %d calls that the target does not have", p, n)
				}
			}
			for name, s := range left {
				if s.Unseen > 0 || !slices.Contains(endless, name) {
					t.Errorf("%s: %d calls without a stack, %d came too fast", name, s.Calls, s.Unseen)
				}
			}
			paths(t, target, 12)
			if out, state := target.Finish(); !state.Success() {
				t.Errorf("the target has ended with %v\n%s", state, out)
			}
		})
	}
}

// TestTreeFull: calls by paths for which there is no room are in no other path, and none is lost.
func TestTreeFull(t *testing.T) {
	program := ptest.BuildC(t, "testdata/trees.cc", "-O2", "-pthread")
	target := ptest.Start(t, program)
	target.Ready()
	w := watchSpec(t, target.PID, path.Base(program), Spec{By: ByPath(), most: 4}, "inner", "deep", "even", "odd", "tail")
	w.Begin()
	want := paths(t, target, 3)
	w.End()
	nodes, got, left := w.Tree(), map[string]uint64{}, map[string]Stats{}
	all, full := uint64(0), uint64(0)
	for _, s := range WholeTree(nodes) {
		all += s.Calls
	}
	for i := range w.Targets {
		var s Stats
		w.Read(i, &s)
		all -= s.Calls
	}
	flatten(t, nodes, nil, got, left)
	for _, s := range left {
		full += s.Calls
	}
	if all != 0 || w.Full() != full || full == 0 || len(got) != 4 {
		t.Errorf("%d calls too many, %d without a path, %d of them for lack of room, %d paths", int64(all), full, w.Full(), len(got))
	}
	for p, n := range got {
		paths := uint64(0) // those that have the same functions that are counted
		for q, n := range want {
			if strings.Join(slices.DeleteFunc(strings.Split(q, ">"), func(name string) bool {
				return !slices.Contains([]string{"inner", "deep", "even", "odd", "tail"}, name)
			}), ">") == p && strings.HasSuffix(p, q[strings.LastIndex(q, ">")+1:]) {
				paths += n
			}
		}
		if n != paths {
			t.Errorf("%s: %d calls, %d by the target's count", p, n, paths)
		}
	}
	target.Kill()
}

// TestTreeCut: calls on stacks that are larger than what is copied are below CutStack, and the others are not.
func TestTreeCut(t *testing.T) {
	program := ptest.BuildC(t, "testdata/trees.cc", "-O2", "-pthread")
	target := ptest.Start(t, program)
	target.Ready()
	w := watchSpec(t, target.PID, path.Base(program), Spec{By: ByPath()}, "big", "inner")
	w.Begin()
	fmt.Fprintln(target.Stdin, -2)
	for target.Line() != "end" {
	}
	w.End()
	whole, cut := 0, 0
	for _, root := range w.Tree() {
		s := WholeTree([]*Node{root})
		for target, s := range s {
			switch {
			case root.Rest == NoStack:
				t.Errorf("%s: %d calls without a stack", target.Name, s.Calls)
			case root.Rest == CutStack:
				cut += int(s.Calls)
			default:
				whole += int(s.Calls)
			}
		}
	}
	// Of 9 calls of big that are 3 KB apart the inner 4 or so have more above them, in each of 3 threads, twice.
	if whole+cut != 3*2*(9+1) || cut < 3*2*4 || whole < 3*2*4 || uint64(cut) != w.Cut() {
		t.Errorf("%d calls, and %d (%d) with a stack that is cut", whole, cut, w.Cut())
	}
	target.Kill()
}

// flatten notes the calls of nodes by their paths, and those that have no path.
func flatten(t *testing.T, nodes []*Node, path []string, all map[string]uint64, left map[string]Stats) {
	t.Helper()
	for _, n := range nodes {
		if n.Rest == NoStack {
			left[n.Raw] = n.Stats
			continue
		}
		if n.Rest == CutStack {
			t.Errorf("stacks are cut: %d paths", len(n.Callees))
			continue
		}
		names := append(path[:len(path):len(path)], n.Raw)
		all[strings.Join(names, ">")] += n.Calls
		callees := time.Duration(0)
		for _, c := range n.Callees {
			callees += c.Sum
		}
		switch whole := n.Raw != "serve" && !slices.Contains(endless, n.Raw); {
		case n.Unclear > 0:
			t.Errorf("%v: of %d calls the time without callees is not known", names, n.Unclear)
		case whole && n.Self != n.Sum-callees, n.Self < 0, n.Self > n.Sum:
			t.Errorf("%v: %v, its callees %v, without them %v", names, n.Sum, callees, n.Self)
		}
		flatten(t, n.Callees, names, all, left)
	}
}
