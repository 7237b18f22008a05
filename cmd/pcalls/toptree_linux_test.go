package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestTopTree: --top --tree prints trees. That each has the calls of its second is what TestTreeSeries of internal/calls is about.
func TestTopTree(t *testing.T) {
	uprobe.NeedCalls(t)
	g := ptest.Start(t, ptest.BuildC(t, "testdata/known.c"), "forever")
	g.Ready()
	var out, said strings.Builder
	if code := run(context.Background(), []string{"--top", "--tree", "--force", "-n", "100", "-t", "3.5", "-p", fmt.Sprint(g.PID), "a.out`known_deep", "a.out`naps"}, &out, &said); code != 0 {
		t.Fatalf("status %d: %s", code, &said)
	}
	trees := strings.Split(strings.TrimSuffix(out.String(), "\n\n"), "\n\n")
	if len(trees) < 2 {
		t.Fatalf("%d trees:\n%s", len(trees), &out)
	}
	made := map[string][]int{} // calls of each line, in each tree
	for _, tree := range trees {
		for line := range strings.Lines(tree) {
			var n int
			if _, err := fmt.Sscan(line, &n); err != nil || strings.Contains(line, "(no stack)") || strings.Contains(line, "process ") {
				continue
			}
			const columns = 57 // CALLS to MAX
			path := strings.TrimRight(line[min(columns, len(line)):], "\n")
			made[path] = append(made[path], n)
		}
	}
	if len(made) != 11 {
		t.Errorf("%d lines in a tree, want 10 of known_deep and one of naps:\n%s", len(made), &out)
	}
	for path, n := range made {
		if len(n) != len(trees) {
			t.Errorf("%s: %d calls in %d trees", path, n, len(trees))
		}
	}
	g.Kill()
}
