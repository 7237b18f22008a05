package profile

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// fakeCode resolves the addresses of one small program: 0x1000 is main,
// 0x2000 work with an inlined helper, 0x3000 leaf, 0x4000 a function whose
// name wants to drive a terminal; 0x9000 is in a library without symbols.
type fakeCode struct{}

func (fakeCode) Resolve(a Addr, dst []Frame) ([]Frame, Mapping) {
	app := Mapping{Start: 0x1000, Limit: 0x8000, Path: "/bin/app", BuildID: "abcd"}
	lib := Mapping{Start: 0x9000, Limit: 0xa000, Path: "/lib/libblind.so"}
	line := int(a.PC & 0xfff)
	switch a.PC &^ 0xfff {
	case 0x1000:
		return append(dst, Frame{Func: "main", File: "app.c", Line: line}), app
	case 0x2000:
		return append(dst,
			Frame{Func: "helper", File: "app.h", Line: 7, Inlined: true},
			Frame{Func: "work", File: "app.c", Line: line}), app
	case 0x3000:
		return append(dst, Frame{Func: "leaf", File: "app.c", Line: line}), app
	case 0x4000:
		return append(dst, Frame{Func: "a;b\x1b[31m\n"}), app
	case 0x9000:
		return dst, lib
	}
	return dst, Mapping{}
}

type fakeSample struct {
	tid    int
	levels []Addr
	note   string
	v      Values
}

var fakeSamples = []fakeSample{
	{10, []Addr{{PC: 0x3001, Kind: Exact}, {PC: 0x2002, Kind: Return}, {PC: 0x1003, Kind: Return}}, "", Values{Samples: 30, CPU: 300, Wall: 300}},
	{10, []Addr{{PC: 0x3009, Kind: Exact}, {PC: 0x1003, Kind: Return}}, "", Values{Samples: 10, CPU: 100, Wall: 100}},
	{10, []Addr{{PC: 0x3001, Kind: Exact}, {PC: 0x3005, Kind: Return}, {PC: 0x3005, Kind: Return}, {PC: 0x1003, Kind: Return}}, "", Values{Samples: 20, CPU: 200, Wall: 200}},
	{11, []Addr{{PC: 0x9123, Kind: Exact}, {PC: 0x1004, Kind: Return}}, "[futex]", Values{Samples: 50, CPU: 5, Wall: 500}},
	{11, []Addr{{PC: 0x4000, Kind: Exact}, {PC: 0x1004, Kind: Return}}, "", Values{Samples: 9, CPU: 90, Wall: 90}},
	{11, []Addr{{PC: 0x777, Kind: Exact}}, "", Values{Samples: 1, CPU: 5, Wall: 10}},
}

// fakeProfile adds the samples in the order of a permutation.
func fakeProfile(order []int) *Profile {
	p := New()
	p.Start = time.Unix(1700000000, 0).UTC()
	p.Duration, p.Period = 2*time.Second, 10*time.Millisecond
	p.Rounds = 60
	p.CPU, p.Means = 1000, "chance"
	s := p.Space(4, "/bin/app", fakeCode{})
	names := map[int]string{10: "app", 11: "worker\x07"}
	for _, i := range order {
		f := fakeSamples[i]
		levels := f.levels
		if f.note != "" {
			levels = append([]Addr{p.Note(f.note)}, levels...)
		}
		stack := s.Stack(levels)
		// In two halves, which tests the merging.
		half := Values{Samples: f.v.Samples / 2, CPU: f.v.CPU / 2, Wall: f.v.Wall / 2}
		c := s.Cell(p.Thread(4, f.tid, names[f.tid]), stack)
		s.Add(c, half)
		s.Add(c, Values{Samples: f.v.Samples - half.Samples, CPU: f.v.CPU - half.CPU, Wall: f.v.Wall - half.Wall})
	}
	return p
}

var straight = []int{0, 1, 2, 3, 4, 5}

func write(t *testing.T, p *Profile, f Format, o *Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b, f, o); err != nil {
		t.Fatalf("%v: %v", f, err)
	}
	return b.String()
}

// textHeader is that of fakeProfile.
const textHeader = `app (pid 4): 2.0 s, 60 samples at 100 Hz, 0.0 threads on average
processor time: 0.00 s, 0 % of one processor, measured by chance
wall time: 0.0 s of all threads: 58 % running, 0 % ready (waiting for a processor), 42 % waiting; name [call]: in that system call

`

// TestThreadsOnAverage: the average is by time, not by rounds: there are fewer rounds while many threads occupy
// the processors.
func TestThreadsOnAverage(t *testing.T) {
	p := fakeProfile(straight)
	s := p.Space(5, "/bin/other", fakeCode{})
	s.Add(s.Cell(p.Thread(5, 5, "other"), s.Stack([]Addr{{PC: 0x3001, Kind: Exact}})), Values{Samples: 1, Wall: 5e9})
	if text := write(t, p, Text, nil); !strings.Contains(text, " 2.5 threads on average") {
		t.Errorf("%s", text)
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{"functions", Options{Value: CPU}, textHeader + `    cpu     wall  function
 85.71%   50.00%  leaf
 12.86%    7.50%  a;b\x1b[31m\x0a
  0.71%   41.67%  [unknown] (libblind.so) [futex]
  0.71%    0.83%  [unknown]
`},
		{"by wall time", Options{Value: Wall}, textHeader + `    cpu     wall  function
 85.71%   50.00%  leaf
  0.71%   41.67%  [unknown] (libblind.so) [futex]
 12.86%    7.50%  a;b\x1b[31m\x0a
  0.71%    0.83%  [unknown]
`},
		{"stacks", Options{Value: CPU, OnStack: true}, textHeader + `  cpu self   cpu total   wall self  wall total  function
    85.71%      85.71%      50.00%      50.00%  leaf
    12.86%      12.86%       7.50%       7.50%  a;b\x1b[31m\x0a
     0.71%       0.71%      41.67%      41.67%  [unknown] (libblind.so) [futex]
     0.71%       0.71%       0.83%       0.83%  [unknown]
     0.00%      99.29%       0.00%      99.17%  main
     0.00%      42.86%       0.00%      25.00%  helper
     0.00%      42.86%       0.00%      25.00%  work
`},
		{"lines", Options{Value: CPU, Lines: true}, textHeader + `    cpu     wall  function
 71.43%   41.67%  app.c:1
 14.29%    8.33%  app.c:9
 12.86%    7.50%  a;b\x1b[31m\x0a
  0.71%   41.67%  [unknown] (libblind.so) [futex]
  0.71%    0.83%  [unknown]
`},
		{"threads", Options{Value: CPU, Threads: true}, textHeader + `app (tid 10): 85.71 % of cpu, 50.00 % of wall
    cpu     wall  function
 85.71%   50.00%  leaf

worker\x07 (tid 11): 14.29 % of cpu, 50.00 % of wall
    cpu     wall  function
 12.86%    7.50%  a;b\x1b[31m\x0a
  0.71%   41.67%  [unknown] (libblind.so) [futex]
  0.71%    0.83%  [unknown]
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := write(t, fakeProfile(straight), Text, &test.o)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("text output (-want +got):\n%s", d)
			}
		})
	}
}

func TestTextNamesakes(t *testing.T) {
	p := New()
	p.Rounds = 2
	for _, object := range []string{"/lib/liba.so", "/lib/libb.so"} {
		s := p.Space(1, "", resolverFunc(func(_ Addr, dst []Frame) ([]Frame, Mapping) {
			return append(dst, Frame{Func: "init"}), Mapping{Start: 1, Limit: 2, Path: object}
		}))
		s.Add(s.Cell(p.Thread(1, 1, "x"), s.Stack([]Addr{{PC: 1, Kind: Exact}})), Values{Samples: 1})
	}
	got := write(t, p, Text, nil)
	for _, want := range []string{"init (liba.so)\n", "init (libb.so)\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

type resolverFunc func(Addr, []Frame) ([]Frame, Mapping)

func (f resolverFunc) Resolve(a Addr, dst []Frame) ([]Frame, Mapping) { return f(a, dst) }

// TestCodeLearnedLater: an address that was met before its code was known gets its name later, in
// earlier samples too. An address in no code at all stays unknown.
func TestCodeLearnedLater(t *testing.T) {
	p := New()
	mapped := false
	s := p.Space(1, "", resolverFunc(func(a Addr, dst []Frame) ([]Frame, Mapping) {
		if !mapped || a.PC != 0x1000 {
			return dst, Mapping{}
		}
		return append(dst, Frame{Func: "late"}), Mapping{Start: 0x1000, Limit: 0x2000, Path: "/lib/late.so"}
	}))
	for range 3 {
		for _, pc := range []uint64{0x1000, 0x5000} {
			s.Add(s.Cell(p.Thread(1, 1, "x"), s.Stack([]Addr{{PC: pc, Kind: Exact}})), Values{Samples: 1})
		}
		s.ResolveAll()
		mapped = true
		s.Learned()
	}
	if d := cmp.Diff("[unknown] 3\nlate 3\n", write(t, p, Folded, nil)); d != "" {
		t.Errorf("folded output (-want +got):\n%s", d)
	}
}

func TestFolded(t *testing.T) {
	const want = `[unknown] 1
main;[unknown] (libblind.so);[futex] 50
main;a:b\x1b[31m\x0a 9
main;leaf 10
main;leaf;leaf;leaf 20
main;work;helper;leaf 30
`
	if d := cmp.Diff(want, write(t, fakeProfile(straight), Folded, nil)); d != "" {
		t.Errorf("folded output (-want +got):\n%s", d)
	}
	const wantThreads = `app (tid 10);main;leaf 100
app (tid 10);main;leaf;leaf;leaf 200
app (tid 10);main;work;helper;leaf 300
worker\x07 (tid 11);[unknown] 5
worker\x07 (tid 11);main;[unknown] (libblind.so) 5
worker\x07 (tid 11);main;a:b\x1b[31m\x0a 90
`
	got := write(t, fakeProfile(straight), Folded, &Options{Threads: true, Value: CPU})
	if d := cmp.Diff(wantThreads, got); d != "" {
		t.Errorf("folded output by thread (-want +got):\n%s", d)
	}
}

// TestOrderDoesNotMatter adds the same samples in many orders.
func TestOrderDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for f := range Format(len(formats)) {
		want := write(t, fakeProfile(straight), f, nil)
		for range 20 {
			order := r.Perm(len(fakeSamples))
			if got := write(t, fakeProfile(order), f, nil); got != want {
				t.Fatalf("%v: order %v gives\n%q\nwant\n%q", f, order, got, want)
			}
		}
	}
}

func TestThreadCreateText(t *testing.T) {
	p := fakeProfile(straight)
	p.Subject = ThreadCreate
	const want = `app (pid 4): 2.0 s, 120 threads created

created  function
 50.00%  leaf
 41.67%  [unknown] (libblind.so) [futex]
  7.50%  a;b\x1b[31m\x0a
  0.83%  [unknown]
`
	if d := cmp.Diff(want, write(t, p, Text, nil)); d != "" {
		t.Errorf("thread creation (-want +got):\n%s", d)
	}
}

// TestHertz: a rate of less than one is not shown as none.
func TestHertz(t *testing.T) {
	for period, want := range map[time.Duration]string{
		0: "0", time.Second / 99: "99", time.Second / 999: "999", time.Second / 3: "3", 2 * time.Second: "0.5", 400 * time.Millisecond: "2.5",
		30 * time.Second: "0.033",
	} {
		if got := Hertz(period); got != want {
			t.Errorf("%v: %s Hz, want %s", period, got, want)
		}
	}
}

func TestEmptyProfile(t *testing.T) {
	for f := range Format(len(formats)) {
		write(t, New(), f, nil)
	}
	if got := write(t, New(), Text, nil); !strings.HasPrefix(got, "nothing: 0.0 s, 0 samples") {
		t.Errorf("got %q", got)
	}
}

// TestEra resolves the same number differently in two eras.
func TestEra(t *testing.T) {
	p := New()
	p.Rounds = 2
	s := p.Space(1, "", resolverFunc(func(a Addr, dst []Frame) ([]Frame, Mapping) {
		return append(dst, Frame{Func: [...]string{"old", "new"}[a.Era]}), Mapping{}
	}))
	th := p.Thread(1, 1, "x")
	s.Add(s.Cell(th, s.Stack([]Addr{{PC: 1, Kind: Exact}})), Values{Samples: 1})
	s.Add(s.Cell(th, s.Stack([]Addr{{PC: 1, Kind: Exact, Era: 1}})), Values{Samples: 1})
	const want = "new 1\nold 1\n"
	if got := write(t, p, Folded, nil); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRetire runs one program in a hundred images, each at other addresses.
func TestRetire(t *testing.T) {
	p := New()
	p.Rounds = 200
	th := p.Thread(1, 1, "x")
	sizes := map[int]int{}
	for i := range 100 {
		base := uint64(0x1000_0000 * (i + 1))
		s := p.Space(1, "/bin/app", resolverFunc(func(a Addr, dst []Frame) ([]Frame, Mapping) {
			name := string(rune('a' + (a.PC-base)/0x100))
			return append(dst, Frame{Func: name}), Mapping{Start: base, Limit: base + 0x1000, Path: "/bin/app"}
		}))
		s.Add(s.Cell(th, s.Stack([]Addr{{PC: base + 0x110, Kind: Exact}, {PC: base + 0x10, Kind: Return}})), Values{Samples: 1})
		s.Add(s.Cell(th, s.Stack([]Addr{p.Note("[futex]"), {PC: base + 0x10, Kind: Exact}})), Values{Samples: 1})
		if i < 99 {
			s.Retire()
		}
		sizes[i] = len(p.spaces[0].locs) + len(p.spaces[0].nodes)*10
	}
	if sizes[1] != sizes[99] {
		t.Errorf("the archive grows: %d at first, %d in the end", sizes[1], sizes[99])
	}
	if d := cmp.Diff("a;[futex] 100\na;b 100\n", write(t, p, Folded, nil)); d != "" {
		t.Errorf("folded (-want +got):\n%s", d)
	}
	for f := range Format(len(formats)) {
		write(t, p, f, nil)
	}
}

// TestWarmSampleDoesNotAllocate: so a long run does not grow.
func TestWarmSampleDoesNotAllocate(t *testing.T) {
	p := fakeProfile(straight)
	s := p.spaces[0]
	th := p.Thread(4, 10, "app")
	levels := fakeSamples[0].levels
	if n := testing.AllocsPerRun(100, func() {
		s.Add(s.Cell(th, s.Stack(levels)), Values{Samples: 1})
	}); n != 0 {
		t.Errorf("%v allocations for a sample that has been seen", n)
	}
}

func TestManyThreads(t *testing.T) {
	p := New()
	s := p.Space(1, "", fakeCode{})
	const n = maxThreads + 1000
	for tid := 1; tid <= n; tid++ {
		s.Add(s.Cell(p.Thread(1, tid, "x"), s.Stack([]Addr{{PC: 0x1000, Kind: Exact}})), Values{Samples: 1})
	}
	if len(p.threads) != maxThreads+1 {
		t.Errorf("%d entries for %d threads", len(p.threads), n)
	}
	if total := p.Total().Samples; total != n {
		t.Errorf("%d samples, want %d", total, n)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		"std::vector<日本>":    "std::vector<日本>",
		"\x1b]0;title\x07":   `\x1b]0;title\x07`,
		"a\nb\tc\x7f":        `a\x0ab\x09c\x7f`,
		"\u009b31m":          `\u009b31m`,
		"\xff\xfe":           `\xff\xfe`,
		"a\u202eb":           `a\u202eb`,
		"a\u2028b":           `a\u2028b`,
		"tag\U000e0041":      `tag\U000e0041`,
		"zero\u200bwidth":    `zero\u200bwidth`,
		"replacement \ufffd": "replacement \ufffd",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1bb")
	f.Add("\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if strings.ContainsFunc(c, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(c) {
			t.Errorf("Clean(%q) = %q is not clean", s, c)
		}
		if Clean(c) != c {
			t.Errorf("Clean(%q) is not what it was", c)
		}
	})
}

func TestFormatNames(t *testing.T) {
	for name, want := range map[string]Format{
		"x.txt": Text, "x": Text, "a/b.folded": Folded, "x.pb.gz": Pprof,
		"x.speedscope.json": Speedscope, "x.json": JSON, "x.html": HTML, "x.perf": Perf, "x.firefox.json": Firefox, "x.svg": SVG, ".json/x": Text, "": Text, "a.b/x": Text,
	} {
		if got, ok := FormatOf(name); got != want || !ok {
			t.Errorf("FormatOf(%q) = %v, %t, want %v", name, got, ok, want)
		}
	}
	for _, name := range []string{"x.png", "x.folded.gz", "x.txt.old", "x."} {
		if got, ok := FormatOf(name); ok {
			t.Errorf("FormatOf(%q) = %v", name, got)
		}
	}
	for f := range Format(len(formats)) {
		if got, ok := ParseFormat(f.String()); !ok || got != f {
			t.Errorf("ParseFormat(%q) = %v, %v", f, got, ok)
		}
	}
	if _, ok := ParseFormat("png"); ok {
		t.Error("ParseFormat took png")
	}
	for v := range Sum { // which a profile of time does not have
		if got, ok := ParseValue(v.String()); !ok || got != v {
			t.Errorf("ParseValue(%q) = %v, %v", v, got, ok)
		}
	}
}

func BenchmarkWarmSample(b *testing.B) {
	p := New()
	s := p.Space(1, "", fakeCode{})
	levels := make([]Addr, 30)
	for i := range levels {
		levels[i] = Addr{PC: uint64(0x1000 + i), Kind: Return}
	}
	th := p.Thread(1, 1, "x")
	for b.Loop() {
		s.Add(s.Cell(th, s.Stack(levels)), Values{Samples: 1, CPU: 2, Wall: 3})
	}
}

// TestTextWithoutWeight: a stack in which nothing was counted that the table shows has no line.
func TestTextWithoutWeight(t *testing.T) {
	p := New()
	s := p.Space(1, "/bin/p", nil)
	id := p.Thread(1, 1, "p")
	for name, v := range map[string]Values{"[busy]": {CPU: 1e9, Wall: 1e9}, "[exec]": {Wall: 1}, "[running]": {Ready: 5}} {
		s.Add(s.Cell(id, s.Push(0, p.Note(name))), v)
	}
	var b strings.Builder
	if err := p.Write(&b, Text, &Options{}); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); strings.Contains(out, "[running]") || !strings.Contains(out, "[busy]") || !strings.Contains(out, "[exec]") {
		t.Error(out)
	}
}
