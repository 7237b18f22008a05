package control

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

var indirectBuilds = []libc{
	{"now", ptest.BuildC, "-pie -fPIE -Wl,-z,now"},
	{"lazy", ptest.BuildC, "-pie -fPIE -Wl,-z,lazy"},
	{"not PIE", ptest.BuildC, "-no-pie -fno-pie"},
	{"static", ptest.BuildC, "-static"},
	{"static-PIE", ptest.BuildC, "-static-pie -fPIE"},
}

// indirectCalls is how often the program calls each of them.
const indirectCalls = 100

// TestIndirect: a breakpoint at an indirect function is hit at every call, whether
// its callers were bound before it was set or are bound afterwards.
func TestIndirect(t *testing.T) {
	for _, l := range indirectBuilds {
		exe := l.build(t, "testdata/ifunc.c", append(strings.Fields(l.flags), "-fno-builtin")...)
		t.Run(l.name+" attached", func(t *testing.T) {
			t.Parallel()
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, exe, strconv.Itoa(indirectCalls))
			g.Ready()
			c := grab(t, g.PID, nil)
			hits := countIndirect(t, c)
			io.WriteString(g.Stdin, "go\n")
			out, _ := g.Finish()
			release(t, c, ModeRun)
			hits.check(t, out)
		})
		t.Run(l.name+" created", func(t *testing.T) {
			t.Parallel()
			c, out := run(t, &Options{Stop: []notify.Point{notify.Create}}, exe, strconv.Itoa(indirectCalls), "at once")
			hits := countIndirect(t, c)
			if err := c.Continue(bg); err != nil {
				t.Fatal(err)
			}
			<-c.Done()
			hits.check(t, <-out)
		})
	}
}

// argCounts has the number of hits by function and first argument.
type argCounts map[string]map[uint64]int

func countIndirect(t *testing.T, c *Controller) argCounts {
	t.Helper()
	hits := argCounts{}
	for _, name := range []string{"strlen", "memcpy", "indirect"} {
		args := map[uint64]int{}
		hits[name] = args
		if _, err := c.BreakSymbol(bg, "", name, 0, func(h *Hit) { args[h.Regs().Args()[0]]++ }); err != nil {
			t.Fatal(err)
		}
	}
	return hits
}

// check compares the counts with what the program says it did.
func (a argCounts) check(t *testing.T, out string) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(out) {
		var name string
		var arg uint64
		if _, err := fmt.Sscanf(line, "%s 0x%x", &name, &arg); err != nil {
			t.Fatalf("printed %q: %v", line, err)
		}
		if got := a[name][arg]; got != indirectCalls {
			t.Errorf("%s: %d hits of %d calls", name, got, indirectCalls)
		}
		lines++
	}
	if lines != len(a) {
		t.Errorf("printed %q", out)
	}
}

// TestIndirectVersions: if a version is named, only that version is hit.
func TestIndirectVersions(t *testing.T) {
	exe := ptest.BuildC(t, "testdata/ifunc.c", "-fno-builtin")
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}}, exe, strconv.Itoa(indirectCalls), "at once")
	hits := map[string]map[uint64]int{}
	for _, name := range []string{"memcpy@GLIBC_2.14", "memcpy@@GLIBC_2.14", "memcpy@GLIBC_2.2.5", "memcpy"} {
		args := map[uint64]int{}
		hits[name] = args
		if _, err := c.BreakSymbol(bg, "libc", name, 0, func(h *Hit) { args[h.Regs().Args()[0]]++ }); err != nil {
			t.Fatal(err)
		}
	}
	var to uint64
	for line := range strings.Lines(finish(t, c, out)) {
		fmt.Sscanf(line, "memcpy 0x%x", &to)
	}
	for name, args := range hits {
		want := indirectCalls
		if strings.HasSuffix(name, "2.2.5") {
			want = 0
		}
		if args[to] != want {
			t.Errorf("%s: %d hits, want %d", name, args[to], want)
		}
	}
}

// TestIndirectExec: in a static program the indirect function is at the same address after
// an exec, and is bound anew.
func TestIndirectExec(t *testing.T) {
	const n = 10
	exe := ptest.BuildC(t, "execstorm.c", "-static")
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}}, exe, "-n", strconv.Itoa(n), "-t", "0")
	var images, last int
	execs := 0
	if _, err := c.BreakSymbol(bg, "", "strchrnul", 0, func(*Hit) {
		if last != execs+1 {
			last = execs + 1
			images++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.BreakSymbol(bg, "", "main", 0, func(*Hit) { execs++ }); err != nil {
		t.Fatal(err)
	}
	finish(t, c, out)
	if execs != n+1 || images < n {
		t.Errorf("hit in %d of %d programs", images, execs)
	}
}
