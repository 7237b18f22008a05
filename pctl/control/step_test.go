package control

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// needX86 skips a test whose program is written in x86 assembler.
func needX86(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("x86 assembler")
	}
}

// finish continues a created process from its first rendezvous to its end, and returns its
// output.
func finish(t *testing.T, c *Controller, out <-chan string) string {
	t.Helper()
	end := c.Bus().Subscribe()
	defer end.Close()
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	e := await(t, end)
	got := <-out
	if e.Kind != notify.Undead || !e.Exited || e.Code != 0 {
		t.Errorf("ended: %+v\n%s", e, got)
	}
	return got
}

// TestStepping: breakpoints are on instructions that end the thread, make another thread or
// process, return from a signal handler, or fault, while signals arrive. Every execution is
// one hit, and the program sees what it sees alone.
func TestStepping(t *testing.T) {
	needX86(t)
	for _, names := range [][]string{
		{"sigreturn"}, {"fork"}, {"vfork"}, {"clone"}, {"exit"}, {"load", "vector", "store", "illegal", "divide"},
		{"fork", "vfork", "clone", "exit", "load", "vector", "store", "illegal", "divide", "sigreturn"},
	} {
		t.Run(strings.Join(names, " "), func(t *testing.T) {
			t.Parallel()
			eachTrap(t, func(t *testing.T, trap Trap) { stepping(t, trap, names) })
		})
	}
}

func stepping(t *testing.T, trap Trap, names []string) {
	n := ptest.Rounds(5, 60, 600)
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: trap}, ptest.BuildC(t, "testdata/stepping.c"), strconv.Itoa(n))
	breaks := map[string]*SymbolBreak{}
	for _, name := range names {
		b, err := c.BreakSymbol(bg, "", "at_"+name, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Addrs()) != 1 {
			t.Fatalf("%s: at %x", name, b.Addrs())
		}
		breaks[name] = b
	}
	checkHits(t, breaks, finish(t, c, out))
}

// checkHits compares the hits with the lines "NAME COUNT" that the program has
// printed.
func checkHits(t *testing.T, breaks map[string]*SymbolBreak, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		var name string
		var want uint64
		if _, err := fmt.Sscanf(line, "%s %d", &name, &want); err != nil {
			t.Fatalf("printed %q: %v", line, err)
		}
		if b := breaks[name]; b != nil && b.Hits() != want {
			t.Errorf("%s: %d hits of %d", name, b.Hits(), want)
		}
		delete(breaks, name)
	}
	for name := range breaks {
		t.Errorf("no count of %s", name)
	}
}

// TestSteppingOwnTraps: breakpoints are on a program's own int3 and on the instructions
// around its own single step. Uprobes do not see that step behind a nop.
func TestSteppingOwnTraps(t *testing.T) {
	needX86(t)
	n := ptest.Rounds(25, 200, 5000)
	argv := []string{ptest.BuildC(t, "selftrap.c"), "-n", strconv.Itoa(n)}
	for _, at := range []struct {
		symbol string
		off    uint64
	}{
		{"trap_int3", 0},  // int3
		{"after_int3", 0}, // ret
		{"trap_step", 5},  // pushf
		{"trap_step", 6},  // or, on the stack
		{"trap_step", 14}, // popf, which sets the trap flag
		{"trap_step", 15}, // nop, which it traps behind
		{"trap_step", 16}, // lea
		{"trap_step", 99}, // all of trap_step's
	} {
		t.Run(at.symbol+"+"+strconv.Itoa(int(at.off)), func(t *testing.T) {
			alone, state := ptest.Start(t, argv...).Finish()
			if !state.Success() {
				t.Fatalf("alone: %v", state)
			}
			c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: TrapInt3}, argv...)
			offs := []uint64{at.off}
			want := uint64(n)
			if at.off == 99 {
				offs = []uint64{0, 5, 6, 14, 15, 16}
			}
			var breaks []*SymbolBreak
			for _, off := range offs {
				b, err := c.BreakSymbol(bg, "", at.symbol, off, nil)
				if err != nil {
					t.Fatal(err)
				}
				breaks = append(breaks, b)
			}
			if got := finish(t, c, out); got != alone {
				t.Errorf("printed %q, alone %q", got, alone)
			}
			for _, b := range breaks {
				if b.Hits() != want {
					t.Errorf("+%d: %d hits of %d", b.Offset(), b.Hits(), want)
				}
			}
		})
	}
}

// TestSteppingUnderSignals: several threads execute every kind of instruction, while
// signals are handled wherever a thread may be: in front of a breakpoint that it was
// reported at, in the middle of a repeated instruction, in a copy.
func TestSteppingUnderSignals(t *testing.T) {
	needX86(t)
	eachTrap(t, steppingUnderSignals)
}

func steppingUnderSignals(t *testing.T, trap Trap) {
	const threads = 3
	kinds := strings.Fields(kindsOfCalls)
	n := ptest.Rounds(10, 100, 1000)
	alarmer := ptest.BuildC(t, "testdata/alarmer.c", "-shared", "-fPIC")
	argv := []string{ptest.BuildC(t, "calls.c"), "-t", strconv.Itoa(threads), "-f", "all", "-n", strconv.Itoa(n * threads * len(kinds))}
	bus := notify.NewBus()
	signals := bus.Subscribe(notify.Signal)
	defer signals.Close()
	t.Setenv("LD_PRELOAD", alarmer) // not of the compiler
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Bus: bus, Trap: trap}, argv...)
	var breaks []*SymbolBreak
	for _, k := range kinds {
		b, err := c.BreakSymbol(bg, "", "f_"+k, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Addrs()) != 1 {
			t.Fatalf("%s: at %x", k, b.Addrs())
		}
		breaks = append(breaks, b)
	}
	finish(t, c, out)
	if e := next(t, signals); e.Kind != notify.Signal {
		t.Error("no signal arrived")
	}
	for i, b := range breaks {
		want := uint64(n * threads)
		if kinds[i] == "lea" {
			want *= 7 // where the six kinds of calls and jumps go
		}
		if b.Hits() != want {
			t.Errorf("%s: %d hits of %d", kinds[i], b.Hits(), want)
		}
	}
}
