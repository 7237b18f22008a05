package flame_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// shares are a profile as a reader shows it: for each function its own value, and that of the stacks that it is on.
type shares map[string][2]float64

func (s shares) add(name string, self, total float64) {
	s[name] = [2]float64{s[name][0] + self, s[name][1] + total}
}

// TestZooReaders: the page in Chromium, go tool pprof, speedscope and the Firefox Profiler show the counts of psample's
// json for every function, exactly. The readers from npm (speedscope, @firefox-devtools/profiler-cli) have to be in PATH.
func TestZooReaders(t *testing.T) {
	if os.Getenv("PTOOLS_ZOO") == "" {
		t.Skip("PTOOLS_ZOO is not set")
	}
	p := random(11, 3000)
	for _, v := range []profile.Value{profile.Samples, profile.CPU} {
		o := &profile.Options{Value: v}
		file := func(f profile.Format, name string) string {
			path := filepath.Join(t.TempDir(), name)
			if err := profile.WriteFile(path, func(w io.Writer) error { return p.Write(w, f, o) }); err != nil {
				t.Fatal(err)
			}
			return path
		}
		want := ofJSON(t, file(profile.JSON, "p.json"), v)
		for name, got := range map[string]shares{
			"Chromium":   ofPage(t, p, o),
			"pprof":      ofPprof(t, file(profile.Pprof, "p.pb.gz"), v),
			"speedscope": ofSpeedscope(t, file(profile.Speedscope, "p.speedscope.json")),
			"Firefox":    ofFirefox(t, file(profile.Firefox, "p.firefox.json"), v),
		} {
			if got == nil {
				continue // reported by a skipped test
			}
			compared, worst := 0, 0.0
			for function, w := range want {
				// Each reader has its own way to show that a thread waits in a call.
				if strings.HasPrefix(function, "[") || function == "reader" || function == "__futex" {
					continue
				}
				compared++
				for i := range w {
					diff := math.Abs(got[function][i] - w[i])
					worst = max(worst, diff)
					if diff > 1e-6*w[i] {
						t.Errorf("%s, %v: %s has %v, json says %v", name, v, function, got[function], w)
						break
					}
				}
			}
			t.Logf("%s, %v: %d functions, largest difference %g", name, v, compared, worst)
			if compared < 1000 {
				t.Errorf("%s: %d functions", name, compared)
			}
		}
	}
}

// ofJSON counts using only the schema.
func ofJSON(t *testing.T, file string, v profile.Value) shares {
	t.Helper()
	var doc struct {
		Functions []struct{ Name string }
		Locations []struct{ Lines []struct{ Function int } }
		Samples   []struct {
			Stack   []int
			Samples int64
			CPU     int64 `json:"cpu_ns"`
		}
	}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	sums := make(shares)
	for _, s := range doc.Samples {
		n := float64(s.Samples)
		if v == profile.CPU {
			n = float64(s.CPU)
		}
		seen := make(map[string]bool)
		for i, l := range s.Stack {
			name := doc.Functions[doc.Locations[l].Lines[0].Function].Name
			if i == 0 {
				sums.add(name, n, 0)
			}
			if !seen[name] {
				seen[name] = true
				sums.add(name, 0, n)
			}
		}
	}
	return sums
}

func ofPage(t *testing.T, p *profile.Profile, o *profile.Options) shares {
	t.Helper()
	b := open(t, page(p, o))
	sums := make(shares)
	for _, row := range value[[][]any](b, tableJS) {
		sums.add(row[0].(string), row[1].(float64), row[2].(float64))
	}
	return sums
}

func ofPprof(t *testing.T, file string, v profile.Value) shares {
	t.Helper()
	index, unit := "samples", "count"
	if v == profile.CPU {
		index, unit = "cpu", "ns"
	}
	out, err := exec.Command(ptest.GoTool(t, "pprof"), "-top", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", "-unit="+unit,
		"-sample_index="+index, file).Output()
	if err != nil {
		t.Fatalf("pprof: %v", err)
	}
	sums := make(shares)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 6 || !strings.HasSuffix(f[1], "%") {
			continue
		}
		var self, total float64
		fmt.Sscan(strings.TrimSuffix(f[0], "ns"), &self)
		fmt.Sscan(strings.TrimSuffix(f[3], "ns"), &total)
		sums.add(f[5], self, total)
	}
	return sums
}

func ofSpeedscope(t *testing.T, file string) shares {
	t.Helper()
	program := fromNPM(t, "speedscope")
	if program == "" {
		return nil
	}
	release := filepath.Join(filepath.Dir(program), "../dist/release")
	out, err := exec.Command("node", "../../cmd/psample/testdata/speedscope.mjs", release, file, "all").Output()
	if err != nil {
		t.Fatalf("speedscope: %v", err)
	}
	sums := make(shares)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var one struct{ Frames [][3]any }
		if err := dec.Decode(&one); err != nil {
			t.Fatal(err)
		}
		for _, f := range one.Frames {
			sums.add(f[0].(string), f[1].(float64), f[2].(float64))
		}
	}
	return sums
}

// ofFirefox asks the Firefox Profiler's own session about each thread.
func ofFirefox(t *testing.T, file string, v profile.Value) shares {
	t.Helper()
	program := fromNPM(t, "profiler-cli")
	if program == "" {
		return nil
	}
	session := fmt.Sprintf("ptools-%d-%v", os.Getpid(), v)
	try := func(args ...string) ([]byte, error) {
		cmd := exec.Command("node", append([]string{program}, args...)...)
		cmd.Args = append(cmd.Args, "--session", session)
		cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(file))
		return cmd.CombinedOutput()
	}
	ask := func(args ...string) []byte {
		t.Helper()
		out, err := try(args...)
		if err != nil {
			t.Fatalf("profiler-cli %v: %v\n%.2000s", args, err, out)
		}
		return out
	}
	defer try("stop")
	if out, err := try("load", file); err != nil {
		// It waits half a second for its own server, which on a busy machine may take longer to start.
		for range 60 {
			if _, err = try("status"); err == nil {
				break
			}
		}
		if err != nil {
			t.Fatalf("profiler-cli load: %s", out)
		}
	}
	var list struct {
		Threads []struct{ ThreadHandle string }
	}
	if err := json.Unmarshal(ask("thread", "list", "--json"), &list); err != nil || len(list.Threads) == 0 {
		t.Fatalf("%d threads, %v", len(list.Threads), err)
	}
	sums := make(shares)
	for _, th := range list.Threads {
		var of struct {
			Functions []struct {
				Name                      string
				SelfSamples, TotalSamples float64
			}
		}
		if err := json.Unmarshal(ask("thread", "functions", "--json", "--limit", "0", "--thread", th.ThreadHandle), &of); err != nil {
			t.Fatal(err)
		}
		for _, f := range of.Functions {
			scale := 1.0
			if v == profile.CPU {
				scale = 1e6 // milliseconds
			}
			sums.add(f.Name, f.SelfSamples*scale, f.TotalSamples*scale)
		}
	}
	return sums
}

// fromNPM returns the path of a program from npm, or "".
func fromNPM(t *testing.T, name string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		t.Run(name, func(t *testing.T) { t.Skipf("%s is not installed (npm install -g, as Zoo tests say)", name) })
		return ""
	}
	return program
}
