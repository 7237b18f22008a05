package pctl

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// frames makes functions begin with an instruction that uprobes can be at.
const frames = "-fno-omit-frame-pointer"

// thousandCalls are the hits of a round of thousand.c.
const thousandCalls = 1500

// checkThousand checks the hits of each function after so many rounds.
func checkThousand(t *testing.T, b *Breakpoint, rounds int) {
	t.Helper()
	places, sum, last := b.Places(), uint64(0), ^uint64(0)
	for _, p := range places {
		n, err := strconv.Atoi(strings.TrimPrefix(p.Symbol, "many_"))
		if want := uint64(n % 4 * rounds); err != nil || p.Hits != want {
			t.Errorf("%s in %s has %d hits, want %d", p.Symbol, p.Object, p.Hits, want)
		}
		if sum += p.Hits; p.Hits > last {
			t.Errorf("%s has %d hits, the one before %d", p.Symbol, p.Hits, last)
		}
		last = p.Hits
	}
	if len(places) != 1000 || sum != b.Hits() || b.Hits() != uint64(rounds*thousandCalls) {
		t.Errorf("%d places with %d hits, %d in all, want 1000 with %d", len(places), sum, b.Hits(), rounds*thousandCalls)
	}
}

// TestPatternThousand: a pattern has the hits of each of a thousand functions, whether hits stop threads or not, also in an object that is
// loaded later, twice, and in a program that is executed later.
func TestPatternThousand(t *testing.T) {
	program := ptest.BuildC(t, "thousand.c", frames)
	plugin := ptest.Copy(t, ptest.BuildC(t, "thousand.c", frames, "-shared", "-fPIC", "-DPLUGIN"))
	loader := ptest.BuildC(t, "thousand.c", "-DTHEIRS")
	for _, tt := range []struct {
		name   string
		argv   []string
		rounds int
	}{
		{"program", []string{program}, 2},
		{"loaded", []string{loader, plugin, plugin}, 4},
		{"executed", []string{loader, program + "+"}, 2},
	} {
		for _, trap := range []Trap{TrapInt3, TrapUprobe} {
			for _, stops := range []bool{false, true} {
				t.Run(fmt.Sprint(tt.name, " ", trap, " ", stops), func(t *testing.T) {
					if trap == TrapUprobe {
						uprobe.NeedLinks(t)
					}
					g := ptest.Start(t, tt.argv...)
					g.Ready()
					p := grab(t, session(t, nil), g.PID, &GrabOptions{Trap: trap})
					var h Handler
					wrong := 0
					if stops {
						h = func(hit *Hit) {
							if f := p.Lookup(hit.Addr); !strings.HasPrefix(f[len(f)-1].Func, "many_") {
								wrong++
							}
						}
					}
					b, err := p.Break(bg, Where{Symbol: "many_*"}, h)
					if err != nil {
						t.Fatal(err)
					}
					g.Stdin.Close()
					if e, err := p.Wait(bg); err != nil || !e.Exited || e.Code != 0 {
						t.Errorf("it ends with %+v, %v", e, err)
					}
					<-p.Done()
					checkThousand(t, b, tt.rounds)
					if wrong != 0 {
						t.Errorf("%d hits elsewhere", wrong)
					}
				})
			}
		}
	}
}

// TestPatternRemoved: the text is the program's own when a breakpoint at a thousand places has gone, which can be set again at once.
func TestPatternRemoved(t *testing.T) {
	uprobe.NeedLinks(t)
	g := ptest.Start(t, ptest.BuildC(t, "thousand.c", frames))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, &GrabOptions{Trap: TrapUprobe})
	where := Where{Object: "thous*", Symbol: "many_?*"}
	for _, h := range []Handler{nil, func(*Hit) {}, nil} {
		b, err := p.Break(bg, where, h)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(b.Addrs()); n != 1000 {
			t.Errorf("set at %d places", n)
		}
		if risk := p.KillRisk(); risk.Int3s {
			t.Errorf("int3s: %v", risk.NoUprobe)
		}
		if err := b.Remove(bg); err != nil {
			t.Error(err)
		}
	}
	// One place of a pattern is one that another client stops at.
	all, err := p.Break(bg, where, nil)
	if err != nil {
		t.Fatal(err)
	}
	stopped := 0
	one, err := p.Break(bg, Where{Symbol: "many_003"}, func(*Hit) { stopped++ })
	if err != nil {
		t.Fatal(err)
	}
	g.Stdin.Close()
	if e, err := p.Wait(bg); err != nil || e.Code != 0 {
		t.Errorf("it ends with %+v, %v", e, err)
	}
	<-p.Done()
	checkThousand(t, all, 2)
	if stopped != 6 || one.Hits() != 6 {
		t.Errorf("%d stops, %d hits of one function, want 6", stopped, one.Hits())
	}
}

// TestPatternMany: more functions than there may be breakpoints are an error that says how many, and the process is as before.
func TestPatternMany(t *testing.T) {
	plugins := []string{ptest.BuildC(t, "thousand.c", "-DTHEIRS")}
	for range 3 {
		plugins = append(plugins, ptest.Copy(t, ptest.BuildC(t, "thousand.c", frames, "-shared", "-fPIC", "-DPLUGIN")))
	}
	g := ptest.Start(t, plugins...)
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	if _, err := p.Break(bg, Where{Symbol: "*"}, nil); err == nil || !strings.Contains(err.Error(), "functions match, and at most 2000") {
		t.Errorf("of all functions: %v", err)
	}
	b, err := p.Break(bg, Where{Symbol: "many_*"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Stdin.Close()
	if e, err := p.Wait(bg); err != nil || e.Code != 0 {
		t.Errorf("it ends with %+v, %v", e, err)
	}
	<-p.Done()
	if len(b.Places()) != 3000 || b.Hits() != 3*2*thousandCalls { // one after the other
		t.Errorf("%d places, %d hits", len(b.Places()), b.Hits())
	}
}

// TestPatternNames: patterns are about demangled names of C++, with their parameters, and names of Go's methods and instances.
func TestPatternNames(t *testing.T) {
	// A goroutine that is preempted in front of an int3 which it has hit hits that again on another thread.
	t.Setenv("GODEBUG", "asyncpreemptoff=1")
	cc, program := ptest.BuildC(t, "./testdata/overloads.cc", frames), ptest.BuildGo(t, "./testdata/generic.go")
	for _, tt := range []struct {
		program, symbol string
		want            map[string]uint64
	}{
		{cc, "shop::Box::*", map[string]uint64{"shop::Box::put(int)": 1, "shop::Box::put(char const*)": 2, "shop::Box::take()": 3}},
		{cc, "shop::*::p*t", map[string]uint64{"shop::Box::put(int)": 1, "shop::Box::put(char const*)": 2}},
		{cc, "put(*)", map[string]uint64{"shop::Box::put(int)": 1, "shop::Box::put(char const*)": 2}},
		{cc, "shop::Pile<*>::push(*)", map[string]uint64{"shop::Pile<int>::push(int)": 4, "shop::Pile<char*>::push(char*)": 5}},
		{cc, "shop::Pile::p*", map[string]uint64{"shop::Pile<int>::push(int)": 4, "shop::Pile<char*>::push(char*)": 5}},
		{cc, "shop::Pile<char*>::push", map[string]uint64{"shop::Pile<char*>::push(char*)": 5}}, // no pattern
		{program, "main.(*shop).t*", map[string]uint64{"main.(*shop).two": 2}},
		{program, "main.shop.t*", map[string]uint64{"main.shop.three": 3}},
		{program, "main.fo?r*", map[string]uint64{"main.four[go.shape.int8]": 4, "main.four[go.shape.float64]": 4}},
	} {
		for _, h := range []Handler{nil, func(*Hit) {}} {
			g := ptest.Start(t, tt.program)
			g.Ready()
			p := grab(t, session(t, nil), g.PID, nil)
			b, err := p.Break(bg, Where{Object: "a.out", Symbol: tt.symbol}, h)
			if err != nil {
				t.Fatal(err)
			}
			g.Stdin.Close()
			if e, err := p.Wait(bg); err != nil || e.Code != 0 {
				t.Errorf("it ends with %+v, %v", e, err)
			}
			<-p.Done()
			hits := map[string]uint64{}
			for _, p := range b.Places() {
				if p.Hits > 0 {
					hits[p.Symbol] += p.Hits
				}
			}
			if !maps.Equal(hits, tt.want) {
				t.Errorf("%s: %v, want %v", tt.symbol, hits, tt.want)
			}
		}
	}
}
