package profile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestGraphOfTree: the root of a tree's stacks is not a function. By default of pages it is the command: a build of a
// thousand compilers has one root.
func TestGraphOfTree(t *testing.T) {
	p := New()
	s := p.Space(0, "", fakeCode{})
	for pid := 1; pid <= 50; pid++ {
		id := p.Process(pid, 0)
		s.Add(s.Cell(p.ThreadOf(id, pid, "cc"), s.Stack([]Addr{{PC: 0x1001, Kind: Exact}})), Values{Samples: 1, CPU: 1000, Wall: 1000})
		p.SetProcess(id, "cc", 1000, time.Second)
	}
	var page struct {
		About   []string
		Strings []string
		Frames  []int
	}
	if err := json.Unmarshal([]byte(graphData(t, p)), &page); err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	for f := range slices.Chunk(page.Frames, 3) {
		kinds[page.Strings[f[0]]] = f[2]
	}
	if kinds["cc"] != 4 || kinds["main"] != 0 || len(kinds) != 2 { // 4 is model.js's group
		t.Errorf("frames by kind: %v", kinds)
	}
	if about := strings.Join(page.About, "\n"); strings.Contains(about, "[call]") || !strings.Contains(about, "of all threads") {
		t.Errorf("about %q", about)
	}
	if n := strings.Count(write(t, p, SVG, &Options{Value: CPU, By: SVG.By()}), "<title>cc "); n != 1 {
		t.Errorf("%d boxes of the command", n)
	}
}

func graphData(t *testing.T, p *Profile) string {
	t.Helper()
	var b strings.Builder
	if err := p.WritePageData(&b, &Options{By: HTML.By()}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
