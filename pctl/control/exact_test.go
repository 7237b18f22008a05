package control

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestExact: every call of a function is one hit, whatever its first instruction is,
// however many threads call, and whatever else is at work on the process.
func TestExact(t *testing.T) {
	for _, kind := range strings.Fields("push ret jcc ripmov call syscall nop endbr movss cpuid sse many") {
		t.Run(kind, func(t *testing.T) {
			eachTrap(t, func(t *testing.T, trap Trap) { exact(t, trap, kind) })
		})
	}
}

// TestExactUnderSignals: the same while a thousand signals a second are handled.
func TestExactUnderSignals(t *testing.T) {
	alarmer := ptest.BuildC(t, "testdata/alarmer.c", "-shared", "-fPIC")
	ptest.BuildC(t, "calls.c") // before the compiler is loaded with it, too
	t.Setenv("LD_PRELOAD", alarmer)
	for _, kind := range strings.Fields("push ret jcc ripmov call syscall many") {
		t.Run(kind, func(t *testing.T) {
			eachTrap(t, func(t *testing.T, trap Trap) { exact(t, trap, kind) })
		})
	}
}

// exact has 16 threads make calls of a kind, with a breakpoint at each of its functions.
func exact(t *testing.T, trap Trap, kind string) {
	n := ptest.Rounds(100, 300, 40_000)
	functions := []string{"f_" + kind}
	if kind == "many" {
		functions = names(kind)
	}
	argv := []string{ptest.BuildC(t, "calls.c"), "-t", "16", "-f", kind, "-n", strconv.Itoa(n)}
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: trap}, argv...)
	var breaks []*SymbolBreak
	for _, name := range functions {
		b, err := c.BreakSymbol(bg, "", name, 0, func(*Hit) {})
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Addrs()) != 1 {
			t.Fatalf("%s: set at %x", name, b.Addrs())
		}
		breaks = append(breaks, b)
	}
	ctx, stop := context.WithCancel(bg)
	var wg sync.WaitGroup
	wg.Go(func() { meddle(ctx, c) })
	finish(t, c, out)
	stop()
	wg.Wait()
	hits := 0
	for _, b := range breaks {
		hits += int(b.Hits())
	}
	if hits != n {
		t.Errorf("%d hits of %d calls", hits, n)
	}
}

// meddle pauses, and sets and removes other breakpoints, until ctx is done.
func meddle(ctx context.Context, c *Controller) {
	for ctx.Err() == nil {
		b, err := c.BreakSymbol(ctx, "", "getppid", 0, nil)
		if err != nil {
			return
		}
		c.Pause(ctx, func(*Stopped) error { return nil })
		b.Remove(ctx)
	}
}
