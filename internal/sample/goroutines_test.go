package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// goSampled samples a program and its goroutines until they have been read some times.
func goSampled(t *testing.T, rounds int64, program string, args ...string) *profile.Profile {
	t.Helper()
	return goSampledBy(t, Goroutines, rounds, program, args...)
}

func goSampledBy(t *testing.T, beside Beside, rounds int64, program string, args ...string) *profile.Profile {
	t.Helper()
	g := ptest.Start(t, append([]string{program}, args...)...)
	g.Until("ready")
	files := openFiles(t)
	src := source.New(attach(t, g.PID, nil), files, true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var s *Sampler
	o := &Options{Beside: beside, Progress: func(*Progress) {
		if s.Profile().Goroutines.Rounds >= rounds {
			cancel()
		}
	}}
	s = New([]*source.Process{src}, o)
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	p := s.Profile()
	if p.Goroutines.Rounds < rounds {
		t.Fatalf("%+v in %v", p.Goroutines, p.Duration)
	}
	p.Resolve()
	return p
}

// TestGoroutineShares: of a thousand goroutines half wait for a channel, and so on, and so does their time. Every format says so.
func TestGoroutineShares(t *testing.T) {
	t.Parallel()
	p := goSampled(t, int64(ptest.Rounds(1, 2, 20)), ptest.BuildGo(t, "gowaits.go"), "-n", "1000") // the busier the machine, the longer until the second
	want := map[string]float64{"main.waitsForChannel": 50, "main.waitsForMutex": 30, "main.waitsForNetwork": 20}
	total := float64(p.Total().Goroutines)
	for _, f := range p.Functions(&profile.Options{Value: profile.Goroutines}) {
		share, ok := want[f.Name]
		if delete(want, f.Name); !ok {
			continue
		}
		if got := 100 * float64(f.Total.Goroutines) / total; math.Abs(got-share) > 2 {
			t.Errorf("%s: %.1f %%, want %.1f", f.Name, got, share)
		}
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v", want)
	}
	n, rounds := p.Goroutines.Goroutines, p.Goroutines.Rounds
	if n < 1000*rounds || n > 1003*rounds || p.Goroutines.Unread != 0 || p.Goroutines.Why != "" {
		t.Errorf("%+v", p.Goroutines)
	}
	// They stand for the whole time, whichever part of it the rounds stand for.
	if average := total / float64(p.Duration); average < 999 || average > 1005 {
		t.Errorf("%.1f goroutines on average", average)
	}
	checkGoJSON(t, p)
	checkGoPprof(t, p)
}

// TestEachGoroutine: each goroutine of a hundred has its number at the root of its stack, and the whole time; files keep that.
func TestEachGoroutine(t *testing.T) {
	t.Parallel()
	const n = 100
	p := goSampledBy(t, EachGoroutine, 1, ptest.BuildGo(t, "gowaits.go"), "-n", strconv.Itoa(n))
	var file bytes.Buffer
	if err := p.Write(&file, profile.Pprof, nil); err != nil {
		t.Fatal(err)
	}
	saved, err := profile.Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	for of, p := range map[string]*profile.Profile{"sampled": p, "saved": saved} {
		var b bytes.Buffer
		if err := p.Write(&b, profile.Folded, &profile.Options{Value: profile.Goroutines, By: profile.ByGoroutine}); err != nil {
			t.Fatal(err)
		}
		waiting := make(map[string]int64)
		for line := range strings.Lines(b.String()) {
			root, rest, _ := strings.Cut(strings.TrimSpace(line), ";")
			var number int
			if _, err := fmt.Sscanf(root, "goroutine %d", &number); err != nil {
				t.Errorf("%s: %s: %v", of, line, err)
			}
			if strings.Contains(rest, "main.waitsFor") {
				ns, _ := strconv.ParseInt(rest[strings.LastIndexByte(rest, ' ')+1:], 10, 64)
				waiting[root] += ns
			}
		}
		if len(waiting) != n {
			t.Errorf("%s: %d goroutines wait, not %d:\n%s", of, len(waiting), n, &b)
		}
		for root, ns := range waiting {
			if share := float64(ns) / float64(p.Duration); share < 0.99 || share > 1.01 {
				t.Errorf("%s: %s waits for %.3f of the time", of, root, share)
			}
		}
	}
}

// checkGoJSON checks that the json has the time of goroutines by their labels, and nothing else of them.
func checkGoJSON(t *testing.T, p *profile.Profile) {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b, profile.JSON, nil); err != nil {
		t.Fatal(err)
	}
	var d profile.Document
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	labelled, all := int64(0), int64(0)
	for _, s := range d.Samples {
		th := d.Threads[s.Thread]
		if th.Goroutines != (s.Goroutines > 0) || th.Goroutines && s.WallNS+s.CPUNS+s.Samples > 0 {
			t.Errorf("%+v of %+v", s, th)
		}
		if all += s.Goroutines; th.Labels["wait"] == "channel" {
			labelled += s.Goroutines
		}
	}
	if share := float64(labelled) / float64(all); share < 0.48 || share > 0.52 || d.Goroutines == nil || d.Goroutines.Rounds != p.Goroutines.Rounds {
		t.Errorf("labelled %.3f, %+v", share, d.Goroutines)
	}
}

// checkGoPprof checks the same of pprof.
func checkGoPprof(t *testing.T, p *profile.Profile) {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b, profile.Pprof, nil); err != nil {
		t.Fatal(err)
	}
	out, err := pprof.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.SampleType); n != 4 || *out.SampleType[3] != (pprof.ValueType{Type: "goroutines", Unit: "nanoseconds"}) {
		t.Fatalf("%v", out.SampleType)
	}
	labelled, all := int64(0), int64(0)
	for _, s := range out.Sample {
		if all += s.Value[3]; s.HasLabel("wait", "channel") {
			labelled += s.Value[3]
			if leaf := s.Location[1].Line[0].Function.Name; leaf != "main.waitsForChannel" || s.Location[0].Line[0].Function.Name != "[chan receive]" {
				t.Errorf("%s waits for the channel", leaf)
			}
		}
	}
	if share := float64(labelled) / float64(all); share < 0.48 || share > 0.52 {
		t.Errorf("labelled %.3f", share)
	}
}

// TestGoroutinesNone: a program without goroutines has neither the value nor a word about it.
func TestGoroutinesNone(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	g.Ready()
	s := New([]*source.Process{source.New(attach(t, g.PID, nil), openFiles(t), false)}, &Options{Beside: Goroutines, For: 300 * time.Millisecond})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := s.Profile(); p.Goroutines != (profile.GoroutineRounds{}) || p.Total().Goroutines != 0 {
		t.Errorf("%+v", p.Goroutines)
	}
}
