package serve_test

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"testing"

	gprofile "github.com/google/pprof/profile"

	"ptools/internal/ptest"
	"ptools/pctl/serve"
)

// TestBlock: the time that goroutines wait for each other, in the forms of Go's block profile, is that of a program whose waits are
// known. Those that wait for the network are not in it. A program without goroutines has no such page.
func TestBlock(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildGo(t, "gowaits.go"), "-n", "400")
	g.Until("ready")
	idle := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	idle.Ready()
	f := newFixture(t, serve.Options{}, nil, g.PID, idle.PID)
	at := fmt.Sprintf("/targets/%d/debug/pprof/block?seconds=0.3", g.PID)
	p := f.profile(at)
	if got := typesOf(p); got != "samples/count delay/nanoseconds wall/nanoseconds" {
		t.Errorf("types %s", got)
	}
	checkBlock(t, p)
	_, body := f.get(at + "&debug=1")
	if _, err := gprofile.ParseData(body); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, name := range []string{"main.waitsForChannel", "main.waitsForMutex", "[sync.Mutex.Lock]"} {
		if !bytes.Contains(body, []byte(name)) {
			t.Errorf("no %s in %s", name, body)
		}
	}
	if status, body := f.get(fmt.Sprintf("/targets/%d/debug/pprof/block?seconds=0.3", idle.PID)); status.StatusCode != http.StatusNotFound {
		t.Errorf("%v %s", status, body)
	}
}

// checkBlock checks the shares of waiting by function.
func checkBlock(t *testing.T, p *gprofile.Profile) {
	t.Helper()
	times, all := make(map[string]float64), 0.0
	for _, s := range p.Sample {
		ns := float64(s.Value[1])
		all += ns
		for _, l := range s.Location {
			for _, n := range l.Line {
				times[n.Function.Name] += ns
			}
		}
		if s.HasLabel("wait", "channel") {
			times["label"] += ns
		}
	}
	for name, share := range map[string]float64{"main.waitsForChannel": 62.5, "label": 62.5, "main.waitsForMutex": 37.5, "main.waitsForNetwork": 0} {
		if got := 100 * times[name] / all; math.Abs(got-share) > 2 {
			t.Errorf("%s: %.1f %% of the waiting, want %.1f", name, got, share)
		}
	}
}
