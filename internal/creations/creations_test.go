package creations

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/pctl/control"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// count starts to count the creations of a target. Its process is let go when the test ends.
func count(t *testing.T, pid int) *Counter {
	t.Helper()
	files := source.NewFiles()
	t.Cleanup(files.Close)
	counter := New()
	hook, bind := counter.Hook()
	c, err := control.Attach(context.Background(), pid, &control.Options{
		Files: files, OnThreadStart: func(creator, child int, regs *ptrace.Regs) { hook(creator, child, &regs.Regs) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Release(context.Background(), control.ModeRun); err != nil {
			t.Error(err)
		}
		if space := c.Space(); space != nil {
			space.Close()
		}
	})
	bind(source.New(c, files, false))
	return counter
}

func folded(t *testing.T, p *profile.Profile) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b, profile.Folded, &profile.Options{Value: profile.Samples}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// shareOf returns the part of the creations that a function has made.
func shareOf(folded, name string) float64 {
	var with, all float64
	for line := range strings.Lines(folded) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		stack := line[:i]
		n, _ := strconv.ParseFloat(line[i+1:], 64)
		if all += n; strings.Contains(";"+stack+";", ";"+name+";") {
			with += n
		}
	}
	return with / all
}

// TestExact: every thread creation counts once, under its creator.
func TestExact(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "threadcreate.c"), "-n", "20", "-w")
	g.Ready()
	profiled := count(t, g.PID)
	if err := profiled.Run(context.Background(), 0, func(context.Context) error {
		return g.Stdin.Close()
	}); err != nil {
		t.Fatal(err)
	}
	out := folded(t, profiled.Profile())
	for _, want := range []string{
		";place_one;create;", ";place_two;create;", ";place_three;create;", ";place_four;create;", ";deeper;create;",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if got := profiled.Profile().Total().Samples; got != 20*15 {
		t.Errorf("%d creations, want 300\n%s", got, out)
	}
	for i, name := range []string{"place_one", "place_two", "place_three", "place_four"} {
		if got, want := shareOf(out, name), float64(i+1)/15; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s created %.4f of the threads, want %.4f", name, got, want)
		}
	}
}

// TestThreadThatEnds: a creation counts with its creator's stack, even if the new thread ends the process at once,
// before control is given a processor.
func TestThreadThatEnds(t *testing.T) {
	exe := ptest.BuildC(t, "endingcreator.c")
	for range ptest.Rounds(10, 40, 400) {
		g := ptest.Start(t, exe)
		g.Ready()
		profiled := count(t, g.PID)
		if err := profiled.Run(context.Background(), 0, func(context.Context) error { return g.Stdin.Close() }); err != nil {
			t.Fatal(err)
		}
		out := folded(t, profiled.Profile())
		if !strings.Contains(out, ";main;make;") || !strings.HasSuffix(out, " 1\n") {
			t.Errorf("%q", out)
		}
		if _, state := g.Finish(); !state.Success() {
			t.Errorf("ended with %v", state)
		}
	}
}
