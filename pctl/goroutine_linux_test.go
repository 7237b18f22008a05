package pctl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// goroutinesOf reads all goroutines of a process.
func goroutinesOf(t testing.TB, p *Process) map[uint64]*Goroutine {
	t.Helper()
	all := make(map[uint64]*Goroutine)
	for g, err := range p.Goroutines(bg) {
		if err != nil {
			t.Fatal(err)
		}
		if all[g.ID] != nil {
			t.Errorf("goroutine %d twice", g.ID)
		}
		all[g.ID] = g
	}
	return all
}

// startGoroutines starts a program with goroutines of all kinds. It records the ancestors of each.
func startGoroutines(t testing.TB, program string, args ...string) *ptest.Target {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Env: []string{"GODEBUG=tracebackancestors=3"}}, append([]string{program}, args...)...)
	g.Until("ready")
	return g
}

// ownTrace has the program write its own trace, and returns the lines of each goroutine, without the values of arguments.
func ownTrace(g *ptest.Target) map[uint64][]string {
	fmt.Fprintln(g.Stdin, "2")
	traces := make(map[uint64][]string)
	id := uint64(0)
	for line := g.Line(); line != "end"; line = g.Line() {
		switch rest, header := strings.CutPrefix(line, "goroutine "); {
		case header && strings.HasSuffix(line, "]:"):
			number, _, _ := strings.Cut(rest, " ")
			id, _ = strconv.ParseUint(number, 10, 64)
		case line == "":
			continue
		case !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "created by ") && strings.HasSuffix(line, ")"):
			line = line[:strings.LastIndexByte(line, '(')] + "(...)"
		}
		traces[id] = append(traces[id], line)
	}
	return traces
}

// compareTraces reads the goroutines of a program and compares them with its own trace.
func compareTraces(t *testing.T, program string, labels bool) {
	t.Helper()
	const each = 60
	target := startGoroutines(t, program, "-n", strconv.Itoa(each))
	p := grab(t, session(t, nil), target.PID, &GrabOptions{ReadOnly: true})
	defer p.Close()
	// One that was woken by the collection just now may still run when it is read first.
	var all map[uint64]*Goroutine
	target.WaitFor("goroutines that stand still", func() bool {
		all = goroutinesOf(t, p)
		for _, g := range all {
			if _, err := g.Stack(); err != nil {
				return false
			}
		}
		return true
	})
	want := ownTrace(target)
	delete(want, 1) // it writes the trace
	if len(want) < 17*each {
		t.Fatalf("the program's trace has %d goroutines", len(want))
	}
	for id, trace := range want {
		g := all[id]
		if g == nil {
			t.Errorf("goroutine %d was not read: %q", id, trace)
			continue
		}
		if sleeps := g.State == "sleep"; sleeps != (g.Left > 0) || sleeps && (g.Left > time.Hour || g.Left < time.Hour-2*ptest.Patience) {
			t.Errorf("goroutine %d, %s: %v of its sleep are left, which lasts an hour", id, g.State, g.Left)
		}
		got := strings.Split(strings.TrimSpace(string(g.AppendTrace(nil))), "\n")
		if !slices.Equal(got, trace) {
			t.Errorf("read:\n%s\nthe program says:\n%s", strings.Join(got, "\n"), strings.Join(trace, "\n"))
		}
	}
	for id, g := range all {
		if want[id] == nil && id != 1 && !g.System {
			t.Errorf("the program has no goroutine %d: %s", id, g.AppendTrace(nil))
		}
	}
	compareDetails(t, target, all, labels)
	compareWaits(t, target, all)
}

// TestGoroutines: what is read of a program from outside is what it says of itself: goroutines, states, for how long, stacks with
// lines, go statements.
func TestGoroutines(t *testing.T) {
	for _, flags := range [][]string{nil, {"-ldflags=-s -w"}, {"-buildmode=pie"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			compareTraces(t, ptest.BuildGo(t, "goroutines.go", flags...), true)
		})
	}
}

// TestGoroutinesOfVersions is TestGoroutines for other versions of Go, which come as modules.
func TestGoroutinesOfVersions(t *testing.T) {
	if !ptest.Torture() {
		t.Skip("it loads toolchains: make torture")
	}
	source, err := filepath.Abs("../internal/ptest/testdata/goroutines.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.19.13", "1.20.14", "1.21.13", "1.22.12", "1.23.12", "1.24.9", "1.25.5"} {
		for _, flags := range []string{"", "-s -w"} {
			t.Run(version+flags, func(t *testing.T) {
				program := filepath.Join(t.TempDir(), "goroutines")
				build := exec.Command("go", "build", "-ldflags="+flags, "-o", program, source)
				build.Dir = t.TempDir()
				build.Env = append(os.Environ(), "GOTOOLCHAIN=go"+version, "GOFLAGS=")
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				compareTraces(t, program, version > "1.24")
			})
		}
	}
}

// TestGoroutinesOfNone: another program is refused, in one line.
func TestGoroutinesOfNone(t *testing.T) {
	target := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	p := grab(t, session(t, nil), target.PID, &GrabOptions{ReadOnly: true})
	defer p.Close()
	for g, err := range p.Goroutines(bg) {
		if g != nil || !errors.Is(err, ErrNoGo) {
			t.Errorf("%v, %v", g, err)
		}
	}
}

// churned are the stacks that changing goroutines can have, as the functions of package main in them.
var churned = regexp.MustCompile(`^((meet )?(even3 )?(even2 )?(even1 )?(grow )?changing |(meet )?(odd3 )?(odd2 )?(odd1 )?changing )?(\S*gowrap\d )?$|^(call )?((evenCall2 )?(evenCall1 )?|(oddCall2 )?(oddCall1 )?)calling $`)

// TestGoroutinesChange: no stack is invented of goroutines that come, go, grow their stacks and change what they do. Under make torture it
// looks for ten minutes.
func TestGoroutinesChange(t *testing.T) {
	target := startGoroutines(t, ptest.BuildGo(t, "goroutines.go"), "-n", "0", "-churn", "200")
	p := grab(t, session(t, nil), target.PID, &GrabOptions{ReadOnly: true})
	defer p.Close()
	seen, changing, running, readings, stacks := 0, 0, 0, 0, make(map[string]int)
	end := time.Now().Add(time.Duration(ptest.Rounds(0, 0, 10)) * time.Minute)
	ptest.Weather(ptest.Rounds(2000, 5000, 400000), func() (done int) {
		if time.Now().Before(end) {
			defer func() { done = 0 }()
		}
		readings++
		for g, err := range p.Goroutines(bg) {
			if err != nil {
				t.Fatal(err)
			}
			seen++
			frames, err := g.Stack()
			switch {
			case g.State == "changing":
				changing++
				continue
			case err != nil && g.stack == nil:
				running++
				continue
			case err != nil:
				t.Fatalf("%v: %s", err, g.AppendTrace(nil))
			}
			names := ""
			for _, f := range frames {
				if name, own := strings.CutPrefix(f.Func, "main."); own && name != "main" {
					names += name + " "
				}
			}
			if frames[len(frames)-1].Func != "runtime.goexit" {
				t.Fatalf("it does not begin where goroutines begin: %s", g.AppendTrace(nil))
			}
			if strings.Contains(names, "changing") || strings.Contains(names, "calling") {
				if stacks[names]++; !churned.MatchString(names) {
					t.Fatalf("an invented stack, %s: %s", names, g.AppendTrace(nil))
				}
				done++
			}
		}
		return done
	})
	t.Logf("%d readings of %d goroutines: %d ran, %d never stood still; stacks %v", readings, seen, running, changing, stacks)
	if len(stacks) < 3 {
		t.Errorf("all had few stacks: %v", stacks)
	}
}

// TestGoroutinesStopped: while the program stands still its goroutines are those of one moment, and the stacks of those that run are
// those of their threads.
func TestGoroutinesStopped(t *testing.T) {
	target := startGoroutines(t, ptest.BuildGo(t, "goroutines.go"), "-n", "3", "-churn", "50")
	p := grab(t, session(t, nil), target.PID, nil)
	defer p.Close()
	for range ptest.Rounds(3, 10, 100) {
		err := p.Pause(bg, func(s *Snapshot) error {
			first, again := goroutinesOf(t, p), goroutinesOf(t, p)
			if len(first) != len(again) || len(first) < 17*3+50 {
				t.Errorf("%d goroutines, then %d", len(first), len(again))
			}
			for id, g := range first {
				if other := again[id]; other == nil || g.State != other.State || g.Start != other.Start || g.Thread != other.Thread {
					t.Errorf("goroutine %d: %v, then %v", id, g, other)
				}
				if g.State == "running" && s.Thread(g.Thread) == nil {
					t.Errorf("goroutine %d runs on thread %d", id, g.Thread)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestGoroutinesOfUnknownVersion: a program of a version that is not known is read by its debug information, without the words
// for what it waits for. Without debug information it is refused.
func TestGoroutinesOfUnknownVersion(t *testing.T) {
	version := runtime.Version()
	other := "go1.99" + version[len("go1.99"):]
	for _, flags := range []string{"", "-s -w"} {
		program := ptest.Copy(t, ptest.BuildGo(t, "goroutines.go", "-ldflags="+flags))
		b, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		ptest.WriteProgram(t, program, bytes.ReplaceAll(b, []byte(version), []byte(other)))
		target := startGoroutines(t, program, "-n", "3")
		p := grab(t, session(t, nil), target.PID, &GrabOptions{ReadOnly: true})
		waiting := 0
		for g, err := range p.Goroutines(bg) {
			switch {
			case flags != "" && (!errors.Is(err, ErrGoVersion) || !strings.Contains(err.Error(), other)), flags == "" && err != nil:
				t.Errorf("%v, %v", g, err)
			case err == nil && g.State == "waiting" && len(g.Trace()) > 0:
				waiting++
			}
		}
		if flags == "" && waiting < 16*3 {
			t.Errorf("%d goroutines wait", waiting)
		}
		p.Close()
	}
}

// TestGoroutinesOfOneThread: 32,768 goroutines that one thread runs in turn.
func TestGoroutinesOfOneThread(t *testing.T) {
	const n = 32768
	target := ptest.StartWith(t, &ptest.Options{Env: []string{"GOMAXPROCS=1"}}, ptest.BuildGo(t, "gomix.go"), "-t", strconv.Itoa(n))
	target.Ready()
	p := grab(t, session(t, nil), target.PID, &GrabOptions{ReadOnly: true})
	defer p.Close()
	states := make(map[string]int)
	for _, g := range goroutinesOf(t, p) {
		if g.System {
			continue
		}
		frames, err := g.Stack()
		if g.State == "chan receive" && (err != nil || frames[len(frames)-1].Func != "runtime.goexit") {
			t.Fatalf("%v: %s", err, g.AppendTrace(nil))
		}
		states[g.State]++
	}
	if states["chan receive"] != n {
		t.Errorf("%v", states)
	}
}
