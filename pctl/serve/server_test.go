package serve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gprofile "github.com/google/pprof/profile"

	"ptools/internal/perfevent"
	"ptools/internal/ptest"
	"ptools/pctl/sample"
	"ptools/pctl/serve"
	"ptools/pctl/targets"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// fixture is a server for some processes.
type fixture struct {
	*httptest.Server
	t       testing.TB
	server  *serve.Server
	sampler *sample.Sampler
	watcher *targets.Watcher
}

func newFixture(t testing.TB, o serve.Options, so *sample.SamplerOptions, pids ...int) *fixture {
	t.Helper()
	var rules []targets.Rule
	for _, pid := range pids {
		rules = append(rules, targets.Rule{PID: pid})
	}
	if so == nil {
		so = &sample.SamplerOptions{Period: time.Second / 499}
	}
	f := &fixture{t: t}
	var err error
	if f.sampler, err = sample.Open(so); err != nil {
		t.Fatal(err)
	}
	if f.watcher, err = targets.NewWatcher(rules); err != nil {
		t.Fatal(err)
	}
	o.Sampler, o.Targets = f.sampler, f.watcher
	f.server = serve.New(o)
	f.Server = httptest.NewUnstartedServer(f.server)
	f.Config = f.server.HTTP()
	f.Listener = f.server.Limit(f.Listener, 1000)
	f.Start()
	t.Cleanup(func() {
		f.Server.CloseClientConnections()
		f.Server.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := f.sampler.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// get returns an answer, whatever its status.
func (f *fixture) get(path string) (*http.Response, []byte) {
	f.t.Helper()
	r, err := http.Get(f.URL + path)
	if err != nil {
		f.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return r, body
}

func (f *fixture) profile(path string) *gprofile.Profile {
	f.t.Helper()
	r, body := f.get(path)
	if r.StatusCode != http.StatusOK {
		f.t.Fatalf("%s: %s: %s", path, r.Status, body)
	}
	p, err := gprofile.ParseData(body)
	if err != nil {
		f.t.Fatalf("%s: %v", path, err)
	}
	if err := p.CheckValid(); err != nil {
		f.t.Errorf("%s: %v", path, err)
	}
	if p.TimeNanos == 0 || p.DurationNanos == 0 {
		f.t.Errorf("%s: time %d, duration %d", path, p.TimeNanos, p.DurationNanos)
	}
	for _, s := range p.Sample {
		if len(s.Location) == 0 {
			f.t.Errorf("%s: sample without locations", path)
		}
		for key, values := range s.Label {
			if key == "" || values[0] == "" {
				f.t.Errorf("%s: label %q is %q", path, key, values)
			}
		}
	}
	return p
}

func typesOf(p *gprofile.Profile) string {
	var types []string
	for _, v := range append(p.SampleType, p.PeriodType) {
		types = append(types, v.Type+"/"+v.Unit)
	}
	return strings.Join(types, " ")
}

// TestProfiles: each profile has the types that engines expect. It is there within a second after its time plus the
// lateness of the machine itself, and runs alone. With the race detector that is not asked for: make test runs it without, too.
func TestProfiles(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	at := fmt.Sprintf("/targets/%d/debug/pprof/", g.PID)
	for path, want := range map[string]string{
		at + "profile?seconds=0.4":       "samples/count cpu/nanoseconds cpu/nanoseconds",
		"/debug/pprof/profile?seconds=1": "samples/count cpu/nanoseconds cpu/nanoseconds",
		at + "wall?seconds=0.4":          "samples/count wall/nanoseconds wall/nanoseconds",
		at + "mutex?seconds=0.4":         "contentions/count delay/nanoseconds contentions/count",
		at + "goroutine":                 "goroutine/count goroutine/count",
		at + "threadcreate":              "threadcreate/count threadcreate/count",
	} {
		own, stop := machine(t, time.Minute)
		begun := time.Now()
		p := f.profile(path)
		took := time.Since(begun)
		if stop(); took > 2*time.Second+10*own.most() && !raced {
			t.Errorf("%s took %v, and the machine was late by %v", path, took, own.most())
		}
		if got := typesOf(p); got != want {
			t.Errorf("%s: types %s, want %s", path, got, want)
		}
		if !strings.Contains(path, "threadcreate") && !strings.Contains(path, "mutex") && !slices.ContainsFunc(p.Function, func(f *gprofile.Function) bool { return strings.HasPrefix(f.Name, "main") }) {
			t.Errorf("%s: no main", path)
		}
	}
	for path, want := range map[string]string{
		"goroutine?debug=1":    "goroutine profile: total 1\n1 @ 0x",
		"goroutine?debug=2":    ", \"mix\"]:\n",
		"threadcreate?debug=1": "threadcreate profile: total 0\n",
		"flame?seconds=0.3":    "<section id=\"flames\"",
		"symbol":               "num_symbols: 1\n",
		"cmdline":              "mix\x00-n\x00100000",
		"":                     "<title>mix (pid",
	} {
		r, body := f.get(at + path)
		if r.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s: %.300q, want %q", path, r.Status, body, want)
		}
	}
}

// TestPageLinks: the page of a target links to pages that answer.
func TestPageLinks(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	_, body := f.get("/debug/pprof/")
	links := regexp.MustCompile(`<a href="([a-z][^"]*)">`).FindAllStringSubmatch(string(body), -1)
	if len(links) < 6 {
		t.Errorf("%d links: %s", len(links), body)
	}
	for _, l := range links {
		link, want := strings.Replace(html.UnescapeString(l[1]), "seconds=10", "seconds=0.1", 1), http.StatusOK
		if strings.HasPrefix(link, "block") {
			want = http.StatusNotFound // it is for Go programs
		}
		if r, body := f.get("/debug/pprof/" + link); r.StatusCode != want {
			t.Errorf("%s: %s: %.200s", l[1], r.Status, body)
		}
	}
}

// TestIndexSaysWhyItStops: without timers the page for people says that threads are stopped, and why, in a sentence.
func TestIndexSaysWhyItStops(t *testing.T) {
	t.Parallel()
	f := newFixture(t, serve.Options{}, &sample.SamplerOptions{Timers: sample.TimersOff})
	_, body := f.get("/")
	if text := string(body); !regexp.MustCompile(`Threads that run are stopped for some microseconds for each sample: [^.<]+\. 99 samples`).MatchString(text) {
		t.Errorf("%.600s", text)
	}
}

// waitedIn returns how long the threads of contend.c have waited for each lock, by the target's own
// count.
func waitedIn(truth *ptest.Truth) (waited [3]float64) {
	for i := range waited {
		waited[i] = float64(truth.Spent(i, perfevent.Now()))
	}
	return waited
}

// TestMutex: waiting is blamed on the function that holds the lock, and go tool pprof reads both forms.
func TestMutex(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "contend.c"))
	g.Ready()
	f := newFixture(t, serve.Options{}, nil, g.PID)
	// The request takes longer than the profile, up to twice as long on a busy machine. What the program counts is noted all the while.
	type note struct {
		at     time.Time
		waited [3]float64
	}
	notes, over, noted := []note{{time.Now(), waitedIn(truth)}}, make(chan struct{}), make(chan struct{})
	go func() { // ended by over
		defer close(noted)
		for every := time.NewTicker(10 * time.Millisecond); ; {
			notes = append(notes, note{time.Now(), waitedIn(truth)})
			select {
			case <-every.C:
			case <-over:
				every.Stop()
				return
			}
		}
	}()
	taken := f.profile("/debug/pprof/mutex?seconds=" + strconv.Itoa(ptest.Rounds(2, 4, 4)))
	close(over)
	<-noted
	nearest := func(ns int64) [3]float64 {
		i := slices.IndexFunc(notes, func(n note) bool { return n.at.UnixNano() >= ns })
		if i < 0 {
			i = len(notes) - 1
		}
		return notes[i].waited
	}
	before, waited, all := nearest(taken.TimeNanos), nearest(taken.TimeNanos+taken.DurationNanos), 0.0
	delay := make([]float64, 3)
	for _, s := range taken.Sample {
		all += float64(s.Value[1])
		if outermost := s.Location[len(s.Location)-1].Line; outermost[len(outermost)-1].Function.Name[0] == '[' {
			continue // no thread is blamed
		}
		for i, holder := range []string{"hold_a", "hold_b", "hold_c"} {
			if slices.ContainsFunc(s.Location, func(l *gprofile.Location) bool {
				return slices.ContainsFunc(l.Line, func(n gprofile.Line) bool { return n.Function.Name == holder })
			}) {
				delay[i] += float64(s.Value[1])
			}
		}
	}
	for i := range waited {
		waited[i] -= before[i]
	}
	known, truly := delay[0]+delay[1]+delay[2], waited[0]+waited[1]+waited[2]
	t.Logf("%.2f s of waiting, of %.2f s the holder is known; the program says %.2f s", all/1e9, known/1e9, truly/1e9)
	for i := range delay {
		got, want := 100*delay[i]/known, 100*waited[i]/truly
		if t.Logf("holder %d: %.1f %%, by the program's count %.1f %%", i, got, want); math.Abs(got-want) > 10 {
			t.Errorf("holder %d: %.1f %%, by the program's count %.1f %%", i, got, want)
		}
	}
	if known < 0.5*truly {
		t.Errorf("the holder is known of %.2f s, of %.2f s", known/1e9, truly/1e9)
	}
	_, text := f.get("/debug/pprof/mutex?seconds=0.4&debug=1")
	p, err := gprofile.ParseData(text)
	if err != nil || len(p.Sample) == 0 || p.SampleType[1].Type != "delay" || !strings.Contains(string(text), "\thold_") {
		t.Errorf("%v, %v: %.1000s", p, err, text)
	}
}

// TestSymbol: addresses of a profile have the names that it gives them, asked for as go tool pprof does.
func TestSymbol(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	p := f.profile("/debug/pprof/goroutine")
	l := p.Sample[0].Location[0]
	want := fmt.Sprintf("num_symbols: 1\n%#x %s\n", l.Address, l.Line[len(l.Line)-1].Function.Name)
	r, err := http.Post(f.URL+"/debug/pprof/symbol", "", strings.NewReader(fmt.Sprintf("%#x+0x1", l.Address)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if body, _ := io.ReadAll(r.Body); string(body) != want {
		t.Errorf("%q, want %q", body, want)
	}
}

// TestPprof: go tool pprof reads a profile by the address, and shows the text of an error.
func TestPprof(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	pprof := func(args ...string) string {
		cmd := exec.Command(ptest.GoTool(t, "pprof"), args...)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, _ := cmd.CombinedOutput() // it fails where it is to
		return string(out)
	}
	if out := pprof("-top", f.URL+"/debug/pprof/profile?seconds=1"); !strings.Contains(out, "Type: cpu") || !strings.Contains(out, "main") {
		t.Errorf("%s", out)
	}
	if out := pprof("-top", f.URL+"/debug/pprof/profile?seconds=100000"); !strings.Contains(out, "more than the 5m0s") {
		t.Errorf("%s", out)
	}
}

// TestErrors: requests that cannot be fulfilled are refused with a status and a line of text.
func TestErrors(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	g.Ready()
	other := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	other.Ready()
	f := newFixture(t, serve.Options{Hosts: []string{"127.0.0.1"}}, nil, g.PID, other.PID)
	at := fmt.Sprintf("/targets/%d/debug/pprof/", g.PID)
	for path, want := range map[string]int{
		at + "profile?seconds=0":        400,
		at + "profile?seconds=-1":       400,
		at + "profile?seconds=NaN":      400,
		at + "profile?seconds=1e9":      400,
		at + "profile?seconds=x":        400,
		at + "profile?debug=1":          400,
		at + "goroutine?seconds=3":      400,
		at + "goroutine?debug=x":        400,
		at + "wall?seconds=1;debug=0":   400,
		at + "wall?seconds=%zz":         400,
		at + "heap":                     404,
		"/targets/1/debug/pprof/":       404,
		"/targets/x/debug/pprof/":       404,
		"/debug/pprof/":                 404, // of two
		"/targets/..%2f..%2fetc/passwd": 404,
		"/nothing":                      404,
	} {
		r, body := f.get(path)
		if r.StatusCode != want || r.Header.Get("X-Go-Pprof") == "" || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") ||
			bytes.Count(body, []byte("\n")) != 1 {
			t.Errorf("%s: %s, %v: %q", path, r.Status, r.Header, body)
		}
	}
	r, _ := http.NewRequest("GET", f.URL+"/", nil)
	r.Host = "rebound.example"
	if a, err := http.DefaultClient.Do(r); err != nil || a.StatusCode != http.StatusForbidden {
		t.Errorf("by another name: %v, %v", a, err)
	} else {
		a.Body.Close()
	}
	other.Kill()
	other.Wait()
	if r, body := f.get(fmt.Sprintf("/targets/%d/debug/pprof/profile?seconds=1", other.PID)); r.StatusCode != 404 {
		t.Errorf("ended: %s %s", r.Status, body)
	}
}

// TestToken: without the token there is /healthz only.
func TestToken(t *testing.T) {
	f := newFixture(t, serve.Options{Terms: serve.Terms{Token: "secret"}}, nil)
	for _, c := range []struct {
		path, token string
		basic       bool
		want        int
	}{
		{"/healthz", "", false, 200},
		{"/", "", false, 401},
		{"/metrics", "", false, 401},
		{"/targets", "secrets", false, 401},
		{"/targets", "secret", false, 200},
		{"/targets", "secret", true, 200},
		{"/targets", "", true, 401},
	} {
		r, _ := http.NewRequest("GET", f.URL+c.path, nil)
		if c.basic {
			r.SetBasicAuth("anybody", c.token)
		} else if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != c.want {
			t.Errorf("%+v: %s", c, a.Status)
		}
	}
}

// TestDiscovery: /targets is what Prometheus reads, with the path of each target.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	r, body := f.get("/targets")
	var groups []struct {
		Targets []string
		Labels  map[string]string
	}
	if err := json.Unmarshal(body, &groups); err != nil || len(groups) != 1 || r.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s, %v", body, err)
	}
	l := groups[0].Labels
	if groups[0].Targets[0] != strings.TrimPrefix(f.URL, "http://") || l["pid"] != fmt.Sprint(g.PID) || l["comm"] != "mix" || l["build_id"] == "" {
		t.Errorf("%s", body)
	}
	f.profile(l["__profile_path_prefix__"] + "/debug/pprof/profile?seconds=0.1")
}

// TestMetrics: what has been done is counted.
func TestMetrics(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	f.profile("/debug/pprof/profile?seconds=0.5")
	f.get("/debug/pprof/profile?seconds=x")
	_, body := f.get("/metrics")
	for _, want := range []string{
		"psampled_targets 1\n", "psampled_clients 0\n", "psampled_sampled_processes 0\n", "psampled_failed_requests_total 1\n",
		`psampled_profiles_total{kind="cpu"} 1`, "process_resident_memory_bytes", "process_cpu_seconds_total",
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(string(body), "psampled_samples_total 0\n") {
		t.Error("no samples")
	}
}

// TestNames: the name that a process has given itself does not become markup, nor a line of a
// header.
func TestNames(t *testing.T) {
	t.Parallel()
	evil := ptest.Copy(t, ptest.BuildC(t, "mix.c")) + "<script>"
	if err := os.Link(strings.TrimSuffix(evil, "<script>"), evil); err != nil {
		t.Fatal(err)
	}
	g := ptest.Start(t, "/bin/bash", "-c", `exec -a $'a\r\nb' "$0" -n 100000`, evil)
	f := newFixture(t, serve.Options{}, nil, g.PID)
	for deadline := time.Now().Add(2 * time.Second); !strings.HasPrefix(f.watcher.Targets()[0].Exe, evil); f.watcher.Read() {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", f.watcher.Targets()[0])
		}
	}
	for _, path := range []string{"/", "/debug/pprof/"} {
		r, body := f.get(path)
		if r.StatusCode != 200 || bytes.Contains(body, []byte("<script>")) || !bytes.Contains(body, []byte("&lt;script&gt;")) {
			t.Errorf("%s: %s: %s", path, r.Status, body)
		}
		if policy := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
}
