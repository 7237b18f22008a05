package sample

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// A subject is a program whose stacks are taken while it works.
type subject struct {
	name string
	argv func(*testing.T) []string
	// hot is a function of code made at run time, which must be named in a tenth of the stacks.
	hot string
	// least is how many stacks of a thousand must be whole; 0: 995.
	least int64
}

// least1000 returns how many stacks of a thousand must be whole.
func (s *subject) least1000() int64 { return cmp.Or(s.least, 995) }

// cut returns a subject of which fewer stacks are whole: it has several, and runs on while they are unwound.
func (s subject) cut(least int64) subject {
	s.least = least
	return s
}

// built is a subject that the test compiles, and that says when it is ready.
func built(name string, build func(*testing.T) string) subject {
	return subject{name: name, argv: func(t *testing.T) []string { return []string{build(t)} }}
}

func c(src string, flags ...string) func(*testing.T) string {
	return func(t *testing.T) string { return ptest.BuildC(t, src, flags...) }
}

func golang(src string, flags ...string) func(*testing.T) string {
	return func(t *testing.T) string { return ptest.BuildGo(t, src, flags...) }
}

// TestWholeChains prints, for many kinds of programs, how many of the stacks that
// were taken reach the thread's beginning, and why the others do not.
func TestWholeChains(t *testing.T) {
	wholeChains(t, []subject{
		built("C", c("mix.c", "-fomit-frame-pointer")),
		built("C, frame pointers", c("mix.c", "-fno-omit-frame-pointer")),
		built("C, alternate stack", c("altstack.c")).cut(900),
		built("C, fibres", c("../unwind/testdata/fibre.c")),
		built("C, musl, static", func(t *testing.T) string { ptest.Need(t, "musl-gcc"); return ptest.BuildMusl(t, "mix.c", "-static") }),
		built("C++, exceptions", c("testdata/throws.cc")),
		built("C++, coroutines", c("../unwind/testdata/coroutine.cc", "-std=c++20")),
		built("Rust", func(t *testing.T) string { return ptest.BuildRust(t, "testdata/sorts.rs", "-O") }),
		built("Go", golang("gomix.go")),
		built("Go, stripped", golang("gomix.go", "-ldflags=-s -w")),
		built("Go, its runtime", golang("../unwind/testdata/hard.go")).cut(900),
		// The part on the stack of a goroutine is read when a tick is unwound, which a busy machine does late.
		built("cgo", golang("../unwind/testdata/cgo.go")).cut(850),
		built("cgo, C's thread", golang("../unwind/testdata/cgothread.go")).cut(850),
	}, func(g *ptest.Target) { g.Ready() })
}

// TestWholeChainsOfTheZoo does the same with real programs.
func TestWholeChainsOfTheZoo(t *testing.T) {
	var subjects []subject
	for _, a := range ptest.Zoo(t) {
		subjects = append(subjects, subject{name: a.Name, argv: func(*testing.T) []string { return a.Busy }, hot: a.Hot})
	}
	if _, err := exec.LookPath("java"); err == nil {
		subjects = append(subjects, subject{name: "java", argv: java, least: 990})
	}
	if _, err := exec.LookPath("guile"); err == nil {
		subjects = append(subjects, subject{name: "guile", argv: guile})
	}
	wholeChains(t, subjects, func(g *ptest.Target) {
		g.WaitFor("work", func() bool {
			used, err := source.ProcessorTime(g.PID)
			return err == nil && used > 500*time.Millisecond
		})
	})
}

// java compiles and runs a program, in one process.
func java(t *testing.T) []string {
	src := filepath.Join(t.TempDir(), "Works.java")
	err := os.WriteFile(src, []byte(`class Works {
	static int fibonacci(int n) { return n < 2 ? n : fibonacci(n-1) + fibonacci(n-2); }
	public static void main(String[] a) { for (;;) fibonacci(20); }
}`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"java", src}
}

// guile compiles code that it runs often.
func guile(*testing.T) []string {
	return []string{"guile", "--no-auto-compile", "-c", "(let loop ((i 0)) (sort (iota 100) >) (number->string i) (loop (+ i 1)))"}
}

// wholeChains samples each subject, once it is ready, and prints a table.
func wholeChains(t *testing.T, subjects []subject, ready func(*ptest.Target)) {
	bothWays(t, func(t *testing.T, use UseTimers) { wholeChainsBy(t, use, subjects, ready) })
}

func wholeChainsBy(t *testing.T, use UseTimers, subjects []subject, ready func(*ptest.Target)) {
	table := []string{fmt.Sprintf("%-20s %8s %8s  %s", "target", "stacks", "whole", "cut short by")}
	for _, b := range subjects {
		t.Run(b.name, func(t *testing.T) {
			g := ptest.Start(t, b.argv(t)...)
			ready(g)
			c := attach(t, g.PID, nil)
			s := sampleBy(t, use, int64(ptest.Rounds(100, 300, 5_000)), time.Second/999, nil, c)
			taken, whole, cut := endings(s)
			for tries := 1; tries < 10 && (taken == 0 || s.Cost().Missed > s.Cost().Rounds); tries++ { // the machine had no time for it, or for us
				s = sampleBy(t, use, int64(ptest.Rounds(100, 300, 5_000)), time.Second/999, nil, c)
				taken, whole, cut = endings(s)
			}
			table = append(table, fmt.Sprintf("%-20s %8d %6.2f %%  %s", b.name, taken, 100*float64(whole)/float64(max(taken, 1)), cut))
			if taken == 0 || float64(whole) < leastOf(taken, b.least1000()) {
				t.Errorf("%d of %d stacks are whole; %s", whole, taken, cut)
			}
			if b.hot != "" && named(t, s, b.hot) < 0.1 {
				t.Errorf("%s is seldom seen:\n%s", b.hot, folded(t, s, profile.Samples))
			}
		})
	}
	t.Logf("\n%s", strings.Join(table, "\n"))
}

// leastOf returns how many of n stacks must be whole, if ofThousand of a thousand are: four standard deviations fewer
// are allowed for chance.
func leastOf(n, ofThousand int64) float64 {
	share := float64(ofThousand) / 1000
	return float64(n)*share - 4*math.Sqrt(float64(n)*share*(1-share))
}

// endings counts the stacks that were taken, those that are whole, and says why the others are not.
func endings(s *Sampler) (taken, whole int64, cut string) {
	var causes []string
	for end, n := range s.Cost().Ends {
		taken += n
		if e := unwind.End(end); e != unwind.Whole && n > 0 {
			causes = append(causes, fmt.Sprintf("%v: %d", e, n))
		}
	}
	return taken, s.Cost().Ends[unwind.Whole], strings.Join(causes, ", ")
}

// named returns the share of the samples on whose stack a part of a function's name is.
func named(t *testing.T, s *Sampler, part string) float64 {
	var with, all float64
	for line := range strings.Lines(folded(t, s, profile.Samples)) {
		i := strings.LastIndexByte(line, ' ')
		var n float64
		fmt.Sscan(line[i:], &n)
		all += n
		if strings.Contains(line[:i], part) {
			with += n
		}
	}
	return with / max(all, 1)
}
