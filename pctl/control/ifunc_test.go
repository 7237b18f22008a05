package control

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

var indirectBuilds = []libc{
	{"now", ptest.BuildC, "-pie -fPIE -Wl,-z,now"},
	{"lazy", ptest.BuildC, "-pie -fPIE -Wl,-z,lazy"},
	{"not PIE", ptest.BuildC, "-no-pie -fno-pie"},
	{"static", ptest.BuildC, "-static"},
	{"static-PIE", ptest.BuildC, "-static-pie -fPIE"},
}

var indirect = []string{"strlen", "memcpy", "indirect"}

// TestIndirect: a breakpoint at an indirect function is hit at every call, whether
// its callers were bound before it was set or are bound afterwards.
func TestIndirect(t *testing.T) {
	const n = 100
	for _, l := range indirectBuilds {
		for _, when := range []string{"before", "after"} {
			t.Run(l.name+" "+when, func(t *testing.T) {
				flags := append(strings.Fields(l.flags), "-fno-builtin")
				g := ptest.StartWith(t, &ptest.Options{Foreign: true}, l.build(t, "testdata/ifunc.c", flags...), strconv.Itoa(n))
				g.Ready()
				c := grab(t, g.PID, nil)
				hits := map[string]map[uint64]int{}
				for _, name := range indirect {
					args := map[uint64]int{}
					hits[name] = args
					if _, err := c.BreakSymbol(bg, "", name, 0, func(h *Hit) { args[h.Regs().Args()[0]]++ }); err != nil {
						t.Fatal(err)
					}
				}
				io.WriteString(g.Stdin, "go\n")
				out, state := g.Finish()
				release(t, c, ModeRun)
				if !state.Success() {
					t.Fatalf("%v: %s", state, out)
				}
				for line := range strings.Lines(out) {
					var name string
					var arg uint64
					if _, err := fmt.Sscanf(line, "%s 0x%x", &name, &arg); err != nil {
						t.Fatalf("printed %q: %v", line, err)
					}
					if got := hits[name][arg]; got != n {
						t.Errorf("%s: %d hits of %d calls", name, got, n)
					}
				}
			})
		}
	}
}
