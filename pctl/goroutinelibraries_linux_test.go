package pctl

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestGoroutinesOfLibraries: goroutines that wait in code of a plugin are whole, with the locks that they wait for. Those of another Go
// program in a library of the process are read too, and are told apart. Both may be loaded after the process was first looked at.
func TestGoroutinesOfLibraries(t *testing.T) {
	plugin := ptest.BuildGo(t, "golibrary.go", "-buildmode=plugin")
	library := ptest.BuildGo(t, "golibrary.go", "-buildmode=c-shared")
	other := ptest.Copy(t, library)
	target := ptest.Start(t, ptest.BuildGo(t, "gohost.go"), "plugin", plugin, "library", library, "library", other)
	target.Until("ready")
	p := grab(t, session(t, nil), target.PID, &GrabOptions{ReadOnly: true})
	defer p.Close()
	for loaded, last := range []string{"", plugin, library, other} {
		if last != "" {
			fmt.Fprintln(target.Stdin)
			target.Until("ready")
		}
		var found map[string][]string
		target.WaitFor("goroutines that wait", func() bool {
			found = waitersIn(t, p)
			return len(slices.Concat(found["Begin"], found["main"])) == 1+7*loaded
		})
		runtimes := map[string]bool{}
		for _, runtime := range found["runtimes"] {
			runtimes[runtime] = true
		}
		want := map[string]bool{"": true}
		if loaded >= 2 {
			want = map[string]bool{"gohost": true, library: true}
		}
		if loaded == 3 {
			want[other] = true
		}
		for runtime := range want {
			if !runtimes[runtime] || len(runtimes) != len(want) {
				t.Errorf("after %s: runtimes of %v, not %v", last, runtimes, want)
			}
		}
		if n := len(found["locks"]); n != 4*loaded {
			t.Errorf("after %s: %d locks of %d goroutines: %q", last, n, 4*loaded, found["locks"])
		}
	}
}

// waitersIn returns the goroutines that wait by the function that created them, the runtimes of all, and the locks that they wait for.
func waitersIn(t *testing.T, p *Process) map[string][]string {
	found := make(map[string][]string)
	for g, err := range p.Goroutines(bg) {
		if err != nil {
			t.Fatal(err)
		}
		runtime := g.Runtime
		if filepath.Base(runtime) == "gohost" {
			runtime = "gohost"
		}
		found["runtimes"] = append(found["runtimes"], runtime)
		if _, err := g.Stack(); g.System || err != nil || len(g.CreatedAt()) == 0 {
			continue
		}
		if g.Lock.Kind != "" {
			name, _ := g.Variable()
			found["locks"] = append(found["locks"], g.Lock.Kind+" "+name)
		}
		waits := strings.HasPrefix(g.State, "chan") || g.Lock.Kind != ""
		by := g.CreatedAt()[0].Func
		if by = by[strings.LastIndexByte(by, '.')+1:]; waits {
			found[by] = append(found[by], g.State)
		}
	}
	return found
}
