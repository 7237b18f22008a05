package profile

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// reread returns a profile after it was written in a format and read again.
func reread(t *testing.T, p *Profile, f Format) *Profile {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b, f, nil); err != nil {
		t.Fatal(err)
	}
	q, err := Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestLoad: a profile that was saved gives the same outputs as the profile itself, with what the format keeps.
func TestLoad(t *testing.T) {
	for _, f := range []Format{Text, Folded, JSON, Speedscope, HTML, SVG} {
		for _, o := range []*Options{{}, {Value: CPU, OnStack: true}, {Value: Wall, Threads: true}, {Value: Ready, Lines: true}} {
			p := fakeProfile(straight)
			p.Means = "" // is not saved
			if want, got := write(t, p, f, o), write(t, reread(t, p, JSON), f, o); got != want {
				t.Errorf("%v %+v of json:\n%s\nwant:\n%s", f, o, got, want)
			}
			if f != Folded && f != SVG || o.Value == Ready {
				continue
			}
			if want, got := write(t, p, Folded, o), write(t, reread(t, p, Pprof), Folded, o); got != want {
				t.Errorf("%v %+v of pprof:\n%s\nwant:\n%s", f, o, got, want)
			}
		}
	}
	if head := write(t, reread(t, fakeProfile(straight), Pprof), Text, &Options{}); strings.Contains(head, "ready (") {
		t.Errorf("pprof has no ready time:\n%s", head)
	}
}

// TestLoadDamaged: what is cut off or refers to nothing is refused, and never panics.
func TestLoadDamaged(t *testing.T) {
	var whole bytes.Buffer
	if err := fakeProfile(straight).Write(&whole, JSON, nil); err != nil {
		t.Fatal(err)
	}
	var d Document
	if err := json.Unmarshal(whole.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	negative := -2
	for name, damage := range map[string]func(d *Document){
		"thread":   func(d *Document) { d.Samples[0].Thread = len(d.Threads) },
		"location": func(d *Document) { d.Samples[0].Stack = []int{-1} },
		"process":  func(d *Document) { d.Threads[0].Process = &negative },
		"mapping":  func(d *Document) { d.Locations[0].Mapping = len(d.Mappings) },
		"function": func(d *Document) { d.Locations[0].Lines = []DocLine{{Function: 1 << 30}} },
		"address":  func(d *Document) { d.Locations[0].Address, d.Locations[0].Lines = "0xz", nil },
		"version":  func(d *Document) { d.Version = 2 },
		"subject":  func(d *Document) { d.Subject = "heap" },
	} {
		var c Document
		if err := json.Unmarshal(whole.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		damage(&c)
		b, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, b := range [][]byte{nil, []byte("{"), []byte("x"), whole.Bytes()[:whole.Len()/2]} {
		if _, err := Load(bytes.NewReader(b)); err == nil {
			t.Errorf("%d bytes: no error", len(b))
		}
	}
}

// TestKeep: stacks with a function, or without it, are what is left, and the header says how much that is.
func TestKeep(t *testing.T) {
	whole := fakeProfile(straight).Total()
	for _, name := range []string{"work", "main"} {
		with, without := fakeProfile(straight), fakeProfile(straight)
		Keep(with, Only{Include: regexp.MustCompile(name)})
		Keep(without, Only{Exclude: regexp.MustCompile(name)})
		sum := with.Total()
		sum.add(without.Total())
		if sum != whole {
			t.Errorf("%s: %+v and %+v are not %+v", name, with.Total(), without.Total(), whole)
		}
		for line := range strings.Lines(write(t, with, Folded, &Options{Value: Wall})) {
			if !strings.Contains(line, name) {
				t.Errorf("with %s: %s", name, line)
			}
		}
		if rest := write(t, without, Folded, &Options{Value: Wall}); strings.Contains(rest, name) {
			t.Errorf("without %s:\n%s", name, rest)
		}
		if head := write(t, with, Text, &Options{}); !strings.Contains(head, "only stacks with "+name) {
			t.Error(head)
		}
	}
}

// TestDiff: shares are compared, however long the profiles are; what is new, gone or as before is said.
func TestDiff(t *testing.T) {
	base, now := New(), New()
	for _, c := range []struct {
		p       *Profile
		f, g, h int64
	}{{base, 50, 50, 0}, {now, 500, 250, 250}} {
		s := c.p.Space(7, "/bin/x", resolverFunc(func(a Addr, dst []Frame) ([]Frame, Mapping) {
			return append(dst, Frame{Func: string(rune('e' + a.PC))}), Mapping{Start: 1, Limit: 9, Path: "/bin/x"}
		}))
		id := c.p.Thread(7, 7, "x")
		for pc, n := range map[uint64]int64{1: c.f, 2: c.g, 3: c.h} {
			s.Add(s.Cell(id, s.Stack([]Addr{{PC: pc}})), Values{Samples: n, CPU: n, Wall: n})
		}
	}
	d, err := NewDiff(base, now)
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[Format][]string{
		Text:   {"  50.00%    25.00%    -25.00  g\n", "   0.00%    25.00%    +25.00  h\n", "  50.00%    50.00%     +0.00  f\n"},
		Folded: {"f 500 500\n", "g 500 250\n", "h 0 250\n"},
		JSON:   {`{"name":"g","object":"x","before":50,"now":25,"total_before":50,"total_now":25}`},
		SVG:    {"h (25.00 %, was 0.00 %", `fill="hsl(4,80%,68%)"`, "f (50.00 %, was 50.00 %", `fill="hsl(4,0%,90%)"`},
		HTML:   {`"compared":true`},
	} {
		var b strings.Builder
		if err := d.Write(&b, f, &Options{Value: CPU}); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%v has no %q:\n%s", f, w, b.String()[:min(b.Len(), 2000)])
			}
		}
	}
	if err := d.Write(&strings.Builder{}, Pprof, &Options{}); err == nil {
		t.Error("pprof was written")
	}
}
