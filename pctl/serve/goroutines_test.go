package serve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/serve"
)

// TestGoroutines: the page of a Go program is about its goroutines, in all forms.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildGo(t, "goroutines.go"), "-n", "5")
	g.Until("ready")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	at := fmt.Sprintf("/targets/%d/debug/pprof/goroutine", g.PID)
	if _, body := f.get(at + "?debug=2"); strings.Count(string(body), "\n\ngoroutine ") < 17*5 || !strings.Contains(string(body), "[select (no cases)") {
		t.Errorf("%s", body)
	}
	if _, body := f.get(at + "?debug=1"); !strings.HasPrefix(string(body), "goroutine profile: total ") || !strings.Contains(string(body), "\tmain.never+0x") {
		t.Errorf("%s", body)
	}
	p := f.profile(at)
	if got := typesOf(p); got != "goroutine/count goroutine/count" {
		t.Errorf("types %s", got)
	}
	count := int64(0)
	for _, s := range p.Sample {
		if slices.Equal(s.Label["request"], []string{"r1"}) {
			count += s.Value[0]
		}
	}
	if count != 5 {
		t.Errorf("%d goroutines with a label", count)
	}
}
