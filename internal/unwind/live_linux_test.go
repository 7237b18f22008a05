package unwind

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// A scenario is a program that runs for ever, with the chains of calls in its
// stacks.
type scenario struct {
	name string
	argv func(t testing.TB) []string
	// chains are functions that call each other, outermost first. A stack that has one of
	// them has all before it.
	chains [][]string
	// cut is how many stacks of a thousand may lack something; 0: 5.
	cut int
}

func c(src string, flags ...string) func(testing.TB) []string {
	return func(t testing.TB) []string { return []string{ptest.BuildC(t, "testdata/"+src, flags...)} }
}

func musl(src string, flags ...string) func(testing.TB) []string {
	return func(t testing.TB) []string { return []string{ptest.BuildMusl(t, "testdata/"+src, flags...)} }
}

func golang(src string, flags ...string) func(testing.TB) []string {
	return func(t testing.TB) []string { return []string{ptest.BuildGo(t, "testdata/"+src, flags...)} }
}

func rust(src string, flags ...string) func(testing.TB) []string {
	return func(t testing.TB) []string { return []string{ptest.BuildRust(t, "testdata/"+src, flags...)} }
}

func java(src string) func(testing.TB) []string {
	return func(t testing.TB) []string { return ptest.BuildJava(t, "testdata/"+src) }
}

// program runs an interpreter.
func program(argv ...string) func(testing.TB) []string {
	return func(t testing.TB) []string {
		ptest.Need(t, argv[0])
		return argv
	}
}

var (
	chainC  = [][]string{{"outer", "middle", "inner", "leaf"}, {"inner", "sort", "compare"}, {"inner", "realigned"}, {"inner", "print"}}
	signalC = [][]string{{"main", "outer", "inner"}, {"main", "handler", "handle", "labour"}}
	// The trampoline has a symbol in static programs: it is not the function in front of it.
	trampolineC = append(signalC, []string{"main", "<signal> " + trampoline, "handler", "handle", "labour"})
	throwCC     = [][]string{{"main", "outer(int)", "middle(int)", "inner(int)"}}
	busyGo      = [][]string{{"runtime.main", "main.main", "main.outer", "main.middle", "main.inner"}}
	chainRS     = [][]string{{"main", "chain::main", "chain::outer", "chain::middle", "chain::inner"}}
	// The runtime goes through asmcgocall by itself, too, for a new thread.
	cgoGo = [][]string{{"runtime.main", "main.main", "main.outer", "runtime.cgocall"}, {"runtime.asmcgocall", "cOuter"},
		{"runtime.cgocall", "cOuter", "crosscall2", "runtime.cgocallback", "main.goCallback"}}
)

const (
	nodeScript = `console.log("ready");
		function f(n) { return n < 2 ? n : f(n-1) + f(n-2) }
		for (;;) { f(15); [3,1,2].sort((a,b) => a-b); JSON.parse(JSON.stringify({a:[1,2,"x"]})); "aab".replace(/a+/, "b"); new Array(100).fill(0).map(x => ({x})) }`
	luaScript = `print("ready") io.flush()
		local x = 0
		while true do for i = 1, 1000 do x = x + i % 7 end; ('x'):rep(100):gsub('x', string.upper) end`
	pythonScript = `
import re, json
print("ready", flush=True)
def f(n): return n if n < 2 else f(n-1) + f(n-2)
while True:
    f(8); sorted(range(100), key=lambda x: -x); json.loads(json.dumps({"a": [1.5, None]})); re.sub("a+b", "x", "aaab")
`
)

var scenarios = []scenario{
	{"c", c("chain.c"), chainC, 0},
	{"c-O0", c("chain.c", "-O0"), chainC, 0},
	{"c-frame-pointers-no-tables", c("chain.c", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), chainC, 0},
	{"c-static", c("chain.c", "-static"), chainC, 0},
	{"c-static-pie", c("chain.c", "-static-pie"), chainC, 0},
	{"c-debug-frame", c("chain.c", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), chainC, 0},
	{"c-no-header", c("chain.c", "-Wl,--no-eh-frame-hdr"), chainC, 0},
	// Only the code shows where a realigned stack was. It is left out here.
	{"c-no-tables", c("chain.c", "-DNO_REALIGN", "-g0", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), chainC, 0},
	{"musl", musl("chain.c"), chainC, 0},
	{"musl-static", musl("chain.c", "-static"), chainC, 0},
	{"signal", c("signal.c"), signalC, 0},
	{"signal-static", c("signal.c", "-static"), trampolineC, 0},
	{"musl-signal", musl("signal.c", "-static"), trampolineC, 0},
	// libgcc's uw_install_context overwrites, before it jumps to a handler, the
	// registers that its caller has saved with the handler's.
	{"throw", c("throw.cc"), throwCC, 40},
	{"go", golang("busy.go"), busyGo, 0},
	{"go-stripped", golang("busy.go", "-ldflags=-s -w"), busyGo, 0},
	{"go-pie", golang("busy.go", "-buildmode=pie"), busyGo, 0},
	{"cgo", golang("cgo.go"), cgoGo, 0},
	{"rust", rust("chain.rs", "-O", "-g"), chainRS, 0},
	{"rust-abort", rust("chain.rs", "-O", "-Cpanic=abort", "-Cstrip=debuginfo"), chainRS, 0},
	{"node", program("node", "-e", nodeScript), nil, 0},
	{"java", java("Works.java"), nil, 10},
	{"luajit", program("luajit", "-e", luaScript), nil, 0},
	{"python", program("python3", "-c", pythonScript), nil, 0},
}

// TestChains samples every scenario and demands that stacks are whole and that no
// caller is missing.
func TestChains(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			s.run(t, ptest.Rounds(100, 500, 10_000))
		})
	}
}

func (s *scenario) run(t *testing.T, samples int) {
	target := ptest.Start(t, s.argv(t)...)
	target.Ready()
	space := openSpace(t, target.PID)
	r := seize(t, target.PID)
	defer r.release()
	u := New(space)
	tally := newTally(s, space)
	var frames []Frame
	for i := range samples {
		tid := r.tids[i%len(r.tids)]
		r.await(tid)
		r.look(tid, func(regs *ptrace.Regs, stack Stack) {
			var end End
			frames, end = u.Unwind(regs, stack, frames[:0])
			if end == NotCode { // mapped since
				tally.space = openSpace(t, target.PID)
				u = New(tally.space)
				frames, end = u.Unwind(regs, stack, frames[:0])
			}
			tally.add(frames, end)
		})
	}
	t.Logf("%d samples, %v; %+v", tally.n, tally.ends, u.Counts())
	cut := max(s.cut, 5)
	few := max(1, tally.n*cut/1000)
	if s.cut > 0 && tally.n < 1000 {
		few += 4 * int(math.Sqrt(float64(few))) // allows for chance with so few samples
	}
	if whole := tally.ends[Whole]; tally.n-whole > few {
		t.Errorf("only %d of %d stacks are whole", whole, tally.n)
	}
	for _, k := range slices.Sorted(maps.Keys(tally.bad)) {
		t.Logf("%d × %s", tally.bad[k], k)
	}
	if tally.broken > few {
		t.Errorf("%d of %d stacks lack a caller", tally.broken, tally.n)
	}
}

// A tally counts the stacks of a scenario by their kind.
type tally struct {
	s      *scenario
	space  *testSpace
	n      int
	broken int
	ends   map[End]int
	bad    map[string]int // examples
}

func newTally(s *scenario, space *testSpace) *tally {
	return &tally{s: s, space: space, ends: map[End]int{}, bad: map[string]int{}}
}

func (c *tally) add(frames []Frame, end End) {
	c.n++
	c.ends[end]++
	names := c.space.names(frames)
	why := ""
	if end != Whole {
		why = end.String()
	}
	for _, chain := range c.s.chains {
		if missing := checkChain(names, chain); missing != "" {
			why += " without " + missing
			c.broken++
			break
		}
	}
	if why != "" {
		c.bad[fmt.Sprintf("%s: %s", why, strings.Join(names, " < "))]++
	}
}

// checkChain returns the first caller of a chain that a stack lacks.
func checkChain(names, chain []string) string {
	from := 0 // in names: the rest of the stack begins there
	deepest := -1
	for i := len(chain) - 1; i >= 0 && deepest < 0; i-- {
		if at := slices.Index(names, chain[i]); at >= 0 {
			deepest, from = i, at
		}
	}
	for i := deepest - 1; i >= 0; i-- {
		at := slices.Index(names[from+1:], chain[i])
		if at < 0 {
			return chain[i]
		}
		from += 1 + at
	}
	return ""
}
