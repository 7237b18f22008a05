package pctl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestHitArgs compares arguments at hits with what the targets of the tests of calls say of them, behind int3s and uprobes.
func TestHitArgs(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("arguments are known on x86-64")
	}
	t.Setenv("GODEBUG", "asyncpreemptoff=1") // as in TestPatternNames
	cc := "ints flags colors texts pairs mixes doubles floaty bigs makes pointers nothing strings byvalue classes many"
	golang := "main.ints main.texts main.dynamic main.structs main.floats main.arrays main.blank main.point.value main.many main.eleven main.twice main.called"
	for _, tt := range []struct{ name, program, functions string }{
		{"C++ -O0", ptest.BuildC(t, "../internal/calls/testdata/zoo.cc", "-g", "-O0"), cc},
		{"C++ -O2", ptest.BuildC(t, "../internal/calls/testdata/zoo.cc", "-g", "-O2"), cc},
		{"Go", ptest.BuildGo(t, "../internal/calls/testdata/gozoo.go"), golang},
	} {
		for _, trap := range []Trap{TrapInt3, TrapAuto} {
			t.Run(fmt.Sprint(tt.name, " ", trap), func(t *testing.T) {
				if trap == TrapAuto {
					uprobe.Need(t)
				}
				g := ptest.Start(t, tt.program)
				g.Ready()
				p := grab(t, session(t, nil), g.PID, &GrabOptions{Trap: trap})
				var mu sync.Mutex
				hits := map[string][]string{}
				for _, name := range strings.Fields(tt.functions) {
					_, err := p.Break(bg, Where{Object: "a.out", Symbol: name}, func(h *Hit) {
						args, err := h.Args()
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
						mu.Lock()
						defer mu.Unlock()
						hits[name] = append(hits[name], ArgsText(args))
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				fmt.Fprintln(g.Stdin, "go")
				matched := 0
				for line := g.Line(); line != "end"; line = g.Line() {
					name, said, _ := strings.Cut(line, ": ")
					name, _, _ = strings.Cut(name, "(")
					mu.Lock()
					if got := hits[name]; len(got) > 0 {
						hits[name] = got[1:]
						if said != got[0] && !strings.HasPrefix(said, got[0]+" = ") {
							t.Errorf("%s: %s\nthe target %s", name, got[0], said)
						}
						matched++
					} else if strings.Contains(" "+tt.functions+" ", " "+name+" ") {
						t.Errorf("no hit of %s", line)
					}
					mu.Unlock()
				}
				if want := len(strings.Fields(tt.functions)); matched < want {
					t.Errorf("%d calls with arguments, want %d at least", matched, want)
				}
			})
		}
	}
}

// TestHitArgsOf: without debug information arguments are words; in Rust they are what pcalls shows; at another place than the beginning of a
// function they are not known.
func TestHitArgsOf(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("arguments are known on x86-64")
	}
	const stripped = "0x4, 0x"
	for _, tt := range []struct {
		program string
		where   Where
		want    string
		err     error
	}{
		{ptest.BuildC(t, "./testdata/lines.c", "-g", "-O0"), Where{Symbol: "work"}, "n=4", nil},
		{ptest.BuildC(t, "./testdata/lines.c", "-g0", "-O0"), Where{Symbol: "work"}, stripped, nil},
		{ptest.BuildC(t, "./testdata/lines.c", "-g", "-O0"), Where{Symbol: "work", Offset: 1}, "", ErrNotEntry},
		{ptest.BuildC(t, "./testdata/lines.c", "-g", "-O0"), Where{File: "lines.c", Line: lineOf(t, "lines.c", "twice")}, "", ErrNotEntry},
		{ptest.BuildRust(t, "./testdata/lines.rs", "-g"), Where{Symbol: "lines::total"}, "n=0", nil},
	} {
		var first string
		var failed error
		n := 0
		atEnd(t, nil, func(p *Process) {
			_, err := p.Break(bg, tt.where, func(h *Hit) {
				if n++; n == 1 {
					var args []Value
					args, failed = h.Args()
					first = ArgsText(args)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}, tt.program)
		if n == 0 || !errors.Is(failed, tt.err) || first != tt.want && (tt.want != stripped || !strings.HasPrefix(first, stripped)) {
			t.Errorf("%s %v: %d hits, the first with %q, %v, want %q, %v", tt.program, tt.where, n, first, failed, tt.want, tt.err)
		}
	}
}
