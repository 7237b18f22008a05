package profile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// placedCode has a function with a name at 0x1000, one without at 0x2000, both in one file, and a C++ function in another
// file at 0x8000.
type placedCode struct{}

func (placedCode) Resolve(a Addr, dst []Frame) ([]Frame, Mapping) {
	app := Mapping{Start: 0x1000, Limit: 0x4000, Offset: 0x400, Path: "/bin/app", BuildID: "abcd"}
	lib := Mapping{Start: 0x8000, Limit: 0x9000, Path: "/lib/libshop.so"}
	switch a.PC &^ 0xfff {
	case 0x1000:
		return append(dst, Frame{Func: "main", File: "app.c", Line: 3}), app
	case 0x2000:
		return append(dst, Frame{Place: "app+0x11e0"}), app
	case 0x6000: // anonymous memory
		return append(dst, Frame{Func: "LazyCompile:*f"}), Mapping{}
	case 0x7000:
		return append(dst, Frame{}), Mapping{}
	}
	return append(dst, Frame{Func: "shop::pay(long)", Raw: "_ZN4shop3payEl", File: "shop.cc", Line: 9}), lib
}

// TestPlace: a function without a name has no name in formats that have addresses, so that readers can look it up. Its
// place stands for it in the others.
func TestPlace(t *testing.T) {
	p := New()
	s := p.Space(4, "/bin/app", placedCode{})
	s.Add(s.Cell(p.Thread(4, 4, "app"), s.Stack([]Addr{{PC: 0x8010, Kind: Exact}, {PC: 0x2010, Kind: Return}, {PC: 0x1010, Kind: Return}})), Values{Samples: 1, CPU: 1e6, Wall: 1e6})

	got, err := profile.ParseData([]byte(write(t, p, Pprof, nil)))
	if err != nil {
		t.Fatal(err)
	}
	path := got.Sample[0].Location
	if len(path) != 3 || len(path[1].Line) != 0 || path[1].Address != 0x200f || len(path[2].Line) != 1 {
		t.Errorf("locations %v", path)
	}
	if f := path[0].Line[0].Function; f.Name != "shop::pay(long)" || f.SystemName != "_ZN4shop3payEl" {
		t.Errorf("function %+v", f)
	}
	if m := path[1].Mapping; m.HasFunctions || m.HasFilenames || m.HasLineNumbers || m.Start != 0x1000 || m.Offset != 0x400 || m.BuildID != "abcd" {
		t.Errorf("mapping with a function that is not known: %+v", m)
	}
	if m := path[0].Mapping; !m.HasFunctions || !m.HasLineNumbers {
		t.Errorf("mapping whose functions are all known: %+v", m)
	}

	var doc Document
	if err := json.Unmarshal([]byte(write(t, p, JSON, nil)), &doc); err != nil {
		t.Fatal(err)
	}
	if l := doc.Locations[1]; len(l.Lines) != 0 || l.Address != "0x2010" || doc.Mappings[l.Mapping].Offset != 0x400 {
		t.Errorf("json: location %+v of %+v", l, doc.Mappings)
	}
	if text := write(t, p, Perf, &Options{Value: CPU}); !strings.Contains(text, "2010 [unknown] (/bin/app)\n") {
		t.Errorf("perf:\n%s", text)
	}
	if text := write(t, p, Folded, nil); text != "main;app+0x11e0;shop::pay(long) 1\n" {
		t.Errorf("folded: %q", text)
	}
	for _, f := range []Format{Text, Speedscope, Firefox, HTML} {
		if text := write(t, p, f, &Options{OnStack: true}); !strings.Contains(text, "app+0x11e0") {
			t.Errorf("%v has no app+0x11e0:\n%.2000s", f, text)
		}
	}
}

// TestPerfJIT: code in no file is in the file in which a JIT compiler lists its functions, as perf has it.
func TestPerfJIT(t *testing.T) {
	p := New()
	s := p.Space(4, "/bin/app", placedCode{})
	s.Add(s.Cell(p.Thread(4, 4, "app"), s.Stack([]Addr{{PC: 0x6010, Kind: Exact}, {PC: 0x7010, Kind: Return}, {PC: 0x1010, Kind: Return}})), Values{CPU: 1e6})
	text := write(t, p, Perf, &Options{Value: CPU})
	if want := "6010 LazyCompile:*f (/tmp/perf-4.map)\n\t            7010 [unknown] (/tmp/perf-4.map)\n\t            1010 main (/bin/app)\n"; !strings.Contains(text, want) {
		t.Errorf("got:\n%s", text)
	}
}
