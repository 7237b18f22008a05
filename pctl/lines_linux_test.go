package pctl

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// lineOf returns the number of the line of a file of testdata that ends with a comment.
func lineOf(t *testing.T, file, comment string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	end := regexp.MustCompile(`/[/*] ` + comment + `( \*/)?$`)
	for i, line := range strings.Split(string(text), "\n") {
		if end.MatchString(line) {
			return i + 1
		}
	}
	t.Fatalf("%s: no line %s", file, comment)
	return 0
}

// atEnd starts a program that waits for the end of its input, lets set do something with it, and returns when it has ended well.
func atEnd(t *testing.T, o *GrabOptions, set func(p *Process), argv ...string) {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Foreign: o != nil && o.Follow != nil}, argv...)
	g.Ready()
	p := grab(t, session(t, nil), g.PID, o)
	set(p)
	g.Stdin.Close()
	if e, err := p.Wait(bg); err != nil || !e.Exited || e.Code != 0 {
		t.Errorf("%v ends with %+v, %v", argv, e, err)
	}
	<-p.Done()
}

// hitsOf returns the hits of a breakpoint's places by function.
func hitsOf(b *Breakpoint) map[string]uint64 {
	hits := map[string]uint64{}
	for _, p := range b.Places() {
		if p.Hits > 0 {
			hits[p.Symbol] += p.Hits
		}
	}
	return hits
}

// TestLines: a breakpoint at a line is at each piece of its code: in loops, in all functions that it was inlined into, in all instances of a
// template, in C, C++, Go and Rust, also of an object that is loaded later.
func TestLines(t *testing.T) {
	t.Setenv("GODEBUG", "asyncpreemptoff=1") // as in TestPatternNames
	c := ptest.BuildC(t, "./testdata/lines.c", "-g", "-O0")
	plugin := ptest.BuildC(t, "./testdata/lines.c", "-g", "-O0", "-shared", "-fPIC", "-DPLUGIN")
	later := ptest.BuildC(t, "./testdata/lines.c", "-g0")
	twice := map[string]uint64{"work": 12, "other": 3}
	for i, tt := range []struct {
		argv          []string
		file, comment string
		want          map[string]uint64
	}{
		{[]string{c}, "lines.c", "twice", twice},
		{[]string{c}, "lines.c", "loop", map[string]uint64{"work": 12}},
		{[]string{c}, "lines.c", "end", map[string]uint64{"run": 1}},
		{[]string{later, plugin}, "lines.c", "twice", twice},
		{[]string{ptest.BuildC(t, "./testdata/lines.cc", "-g", "-O0")}, "lines.cc", "half",
			map[string]uint64{"int half<int>(int)": 2, "double half<double>(double)": 5}},
		{[]string{ptest.BuildGo(t, "./testdata/lines.go")}, "lines.go", "inlined", map[string]uint64{"main.work": 12, "main.main": 1}},
		{[]string{ptest.BuildGo(t, "./testdata/lines.go", "-ldflags=-s -w")}, "lines.go", "inlined", map[string]uint64{"main.work": 12, "main.main": 1}},
	} {
		where := Where{File: tt.file, Line: lineOf(t, tt.file, tt.comment)}
		for j, h := range []Handler{nil, func(*Hit) {}} {
			if testing.Short() && j != i%2 {
				continue
			}
			atEnd(t, nil, func(p *Process) {
				b, err := p.Break(bg, where, h)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if hits := hitsOf(b); !maps.Equal(hits, tt.want) || !b.Found() {
						t.Errorf("%v %v: %v, want %v", tt.argv, where, b.Places(), tt.want)
					}
					if f := b.Source().Files; len(f) != 1 || !strings.HasSuffix(f[0], "/"+tt.file) {
						t.Errorf("%v: files %q", where, f)
					}
				})
			}, tt.argv...)
		}
	}
}

// TestLinesRust is TestLines for Rust.
func TestLinesRust(t *testing.T) {
	program := ptest.BuildRust(t, "./testdata/lines.rs", "-g")
	var b *Breakpoint
	atEnd(t, nil, func(p *Process) {
		var err error
		if b, err = p.Break(bg, Where{File: "lines.rs", Line: lineOf(t, "lines.rs", "add")}, nil); err != nil {
			t.Fatal(err)
		}
	}, program)
	n := uint64(0)
	for _, p := range b.Places() {
		if n = max(n, p.Hits); !strings.Contains(p.Symbol, "total") {
			t.Errorf("a place in %s", p.Symbol)
		}
	}
	if n != 12 {
		t.Errorf("%v, want 12 hits at a place", b.Places())
	}
}

// TestLinesFollowed: a child that is followed has the breakpoints at lines of its parent.
func TestLinesFollowed(t *testing.T) {
	c := ptest.BuildC(t, "./testdata/lines.c", "-g", "-O0")
	plugin := ptest.BuildC(t, "./testdata/lines.c", "-g", "-O0", "-shared", "-fPIC", "-DPLUGIN")
	children := make(chan *Process, 1)
	begin := func(p *Process) { children <- p }
	atEnd(t, &GrabOptions{Follow: &Follow{Begin: begin}}, func(p *Process) {
		if _, err := p.Break(bg, Where{File: "lines.c", Line: lineOf(t, "lines.c", "twice")}, nil); err != nil {
			t.Fatal(err)
		}
	}, c, plugin, "fork")
	child := <-children
	defer child.Close()
	<-child.Done()
	for _, b := range child.Breakpoints() {
		if b.Hits() != 15 {
			t.Errorf("%v in the child: %v", b.Where(), b.Places())
		}
	}
}

// TestNoCode: of a line without code the next line with code is said, of a file that no object names this.
func TestNoCode(t *testing.T) {
	c := ptest.BuildC(t, "./testdata/lines.c", "-g", "-O0")
	empty := lineOf(t, "lines.c", "no code")
	for _, tt := range []struct {
		where Where
		want  string
	}{
		{Where{File: "lines.c", Line: empty}, `^there is no code of lines.c:\d+; the next line with code is ` + strconv.Itoa(lineOf(t, "lines.c", "next")) + "$"},
		{Where{File: "lines.c", Line: 9999}, `^there is no code of lines.c:9999 or of a line behind it$`},
		{Where{File: "ines.c", Line: empty}, `^no debug information in what process \d+ has mapped names a file ines.c$`},
		{Where{Object: "libc.so.6", File: "lines.c", Line: empty}, `names a file lines.c$`},
	} {
		atEnd(t, nil, func(p *Process) {
			b, err := p.Break(bg, tt.where, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.NoCode(); b.Found() || err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
				t.Errorf("%v: found %t, %v, want %s", tt.where, b.Found(), err, tt.want)
			}
		}, c)
	}
}

// TestMidInstruction: no breakpoint is set inside an instruction, whether by an offset, an address or a line table that lies. The program
// checks that instruction.
func TestMidInstruction(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86 assembler")
	}
	program := ptest.BuildC(t, "./testdata/inside.S")
	for _, h := range []Handler{nil, func(*Hit) {}} {
		var good []*Breakpoint
		atEnd(t, nil, func(p *Process) {
			odd, err := p.Break(bg, Where{Symbol: "odd"}, h)
			if err != nil {
				t.Fatal(err)
			}
			at := odd.Addrs()[0]
			good = append(good, odd)
			for off := uint64(1); off < 7; off++ {
				for _, where := range []Where{{Symbol: "odd", Offset: off}, {Addr: at + off}, {Symbol: "o?d", Offset: off}} {
					b, err := p.Break(bg, where, h)
					if begins := off == 1 || off == 6; begins && err == nil {
						good = append(good, b)
					} else if begins || !errors.Is(err, ErrMidInstruction) {
						t.Errorf("%v: %v", where, err)
					}
				}
			}
			if _, err := p.Break(bg, Where{File: "inside.c", Line: 20}, h); !errors.Is(err, ErrMidInstruction) {
				t.Errorf("line 20: %v", err)
			}
			b, err := p.Break(bg, Where{File: "inside.c", Line: 30}, h)
			if err != nil {
				t.Fatal(err)
			}
			good = append(good, b)
		}, program)
		for _, b := range good {
			if b.Hits() != 1 {
				t.Errorf("%v: %d hits", b.Where(), b.Hits())
			}
		}
	}
}
