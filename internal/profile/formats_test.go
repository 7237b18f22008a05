package profile

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"ptools/internal/ptest"
)

// TestPprofRoundTrip reads the file with the package that defines the format.
func TestPprofRoundTrip(t *testing.T) {
	file := write(t, fakeProfile(straight), Pprof, nil)
	if !strings.HasPrefix(file, "\x1f\x8b") {
		t.Error("not compressed by gzip")
	}
	p, err := profile.ParseData([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, s := range p.SampleType {
		types = append(types, s.Type+"/"+s.Unit)
	}
	if got := strings.Join(types, " "); got != "samples/count cpu/nanoseconds wall/nanoseconds" || p.DefaultSampleType != "cpu" {
		t.Errorf("sample types %q, default %q", got, p.DefaultSampleType)
	}
	sum := make([]int64, 3)
	for _, s := range p.Sample {
		for i, v := range s.Value {
			sum[i] += v
		}
		if len(s.Label["thread"]) != 1 || len(s.NumLabel["tid"]) != 1 {
			t.Errorf("labels of a sample: %v %v", s.Label, s.NumLabel)
		}
	}
	if sum[0] != 120 || sum[1] != 700 || sum[2] != 1200 {
		t.Errorf("values sum to %v", sum)
	}
	if m := p.Mapping[0]; m.File != "/bin/app" || m.BuildID != "abcd" || !m.HasFunctions || !m.HasInlineFrames || !m.HasLineNumbers {
		t.Errorf("first mapping %+v", m)
	}
	for _, l := range p.Location {
		if l.Address == 0x2001 { // the return address 0x2002 is in the call before it
			if len(l.Line) != 2 || l.Line[0].Function.Name != "helper" || l.Line[1].Function.Name != "work" || l.Line[1].Line != 2 {
				t.Errorf("lines of the inlined call: %+v", l.Line)
			}
			return
		}
	}
	t.Error("no location inside the inlined call")
}

// TestPprofMain: the first mapping is the program, even if none of its code was
// seen.
func TestPprofMain(t *testing.T) {
	p := New()
	s := p.Space(4, "/bin/other", fakeCode{}) // whose code is that of /bin/app
	s.Add(s.Cell(p.Thread(4, 4, "other"), s.Stack([]Addr{fakeSamples[0].levels[0]})), Values{Samples: 1})
	out := newPprof(p)
	if len(out.Mapping) < 2 || out.Mapping[0].File != "/bin/other" || out.Mapping[1].File != "/bin/app" {
		t.Errorf("mappings %v", out.Mapping)
	}
	var b bytes.Buffer
	if err := p.Write(&b, Pprof, nil); err != nil {
		t.Fatal(err)
	}
	if out, err := profile.ParseData(b.Bytes()); err != nil || out.Mapping[0].File != "/bin/other" {
		t.Errorf("read again: %v, %v", out, err)
	}
}

func TestPprofThreadCreate(t *testing.T) {
	p := fakeProfile(straight)
	p.Subject = ThreadCreate
	got, err := profile.ParseData([]byte(write(t, p, Pprof, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.SampleType) != 1 || got.SampleType[0].Type != "threadcreate" || len(got.Sample[0].Value) != 1 {
		t.Errorf("sample types %v", got.SampleType)
	}
}

// TestGoToolPprof has go tool pprof read our file.
func TestGoToolPprof(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	file := filepath.Join(t.TempDir(), "x.pb.gz")
	if err := WriteFile(file, func(w io.Writer) error { return fakeProfile(straight).Write(w, Pprof, nil) }); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"-top"}, []string{"Type: cpu", "leaf"}},
		{[]string{"-top", "-sample_index=samples"}, []string{"Type: samples", "[futex]"}},
		{[]string{"-top", "-sample_index=wall"}, []string{"Type: wall"}},
		{[]string{"-tree"}, []string{"helper", "(inline)"}},
		{[]string{"-raw"}, []string{"thread:[app]", "tid:[10]"}},
	} {
		args := slices.Clip(test.args)
		if test.args[0] != "-raw" {
			args = append(args, "-nodecount=50", "-nodefraction=0")
		}
		out, err := exec.Command(ptest.GoTool(t, "pprof"), append(args, file)...).CombinedOutput()
		if err != nil {
			t.Errorf("go tool pprof %v: %v\n%s", test.args, err, out)
		}
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("go tool pprof %v lacks %q:\n%s", test.args, want, out)
			}
		}
	}
}

func TestSpeedscope(t *testing.T) {
	var f speedscopeFile
	if err := json.Unmarshal([]byte(write(t, fakeProfile(straight), Speedscope, &Options{Value: Wall})), &f); err != nil {
		t.Fatal(err)
	}
	if f.Schema != speedscopeSchema || len(f.Profiles) != 2 {
		t.Fatalf("schema %q, %d profiles", f.Schema, len(f.Profiles))
	}
	for _, p := range f.Profiles {
		if p.Type != "sampled" || p.Unit != "nanoseconds" || len(p.Samples) != len(p.Weights) {
			t.Errorf("profile %+v", p)
		}
		var sum int64
		for i, stack := range p.Samples {
			sum += p.Weights[i]
			for _, fr := range stack {
				if fr < 0 || fr >= len(f.Shared.Frames) {
					t.Errorf("frame %d of %d", fr, len(f.Shared.Frames))
				}
			}
		}
		if p.StartValue != 0 || p.EndValue != sum {
			t.Errorf("weights sum to %d, end value %d", sum, p.EndValue)
		}
	}
	first := f.Profiles[0]
	if first.Name != "app (tid 10)" || f.Shared.Frames[first.Samples[0][0]].Name != "main" {
		t.Errorf("first profile %+v", first)
	}
}

// TestSpeedscopeFrames: a function is one frame, however many of its lines were
// seen, unless lines are asked for. The thread with most processor time comes
// first.
func TestSpeedscopeFrames(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want int
	}{{Options{}, 1}, {Options{Lines: true}, 3}} { // lines 1, 5 and 9 of leaf
		var f speedscopeFile
		if err := json.Unmarshal([]byte(write(t, fakeProfile(straight), Speedscope, &test.o)), &f); err != nil {
			t.Fatal(err)
		}
		leaves := 0
		for _, fr := range f.Shared.Frames {
			if fr.Name == "leaf" {
				leaves++
			}
		}
		if leaves != test.want {
			t.Errorf("lines %v: leaf is %d frames, not %d", test.o.Lines, leaves, test.want)
		}
		if got := f.Profiles[f.Active].Name; got != "app (tid 10)" {
			t.Errorf("shows %s first", got)
		}
	}
	lazy := []int{3} // a thread that waited has used its 5 ns in the library that called the kernel
	if out := write(t, fakeProfile(lazy), Speedscope, &Options{Value: CPU}); strings.Contains(out, "futex") {
		t.Errorf("waiting used processor time:\n%s", out)
	}
}

func TestJSON(t *testing.T) {
	out := write(t, fakeProfile(straight), JSON, nil)
	var d Document
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Version != 1 || d.Subject != "time" || d.Rounds != 60 || d.CPUNS != 1000 || len(d.Threads) != 2 {
		t.Errorf("head of %+v", d)
	}
	var folded bytes.Buffer
	for _, s := range d.Samples {
		var names []string
		for _, i := range s.Stack {
			for _, l := range d.Locations[i].Lines {
				names = append(names, d.Functions[l.Function].Name)
			}
		}
		folded.WriteString(strings.Join(names, "<") + "\n")
	}
	if !strings.Contains(folded.String(), "leaf<helper<work<main\n") {
		t.Errorf("stacks by index:\n%s", folded.String())
	}
}
