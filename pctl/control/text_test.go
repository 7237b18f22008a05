package control

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// kindsOfCalls are the functions of calls.c by the instruction that they begin with, or
// contain. Each way to get past a breakpoint is among them.
const kindsOfCalls = "push ret jcc ripmov ripstore ripcmp riplea call callmem callreg jmp jmpmem jmpreg jrcxz syscall " +
	"nop longnop endbr movss cpuid rdtsc sse pushf popf lockinc xchg movrr lea subrsp addflags fs pop leave retn repstos"

// TestTextWhileHeld: int3s are not in the text while the target is held or after it was
// released, even if their instructions are executed elsewhere. Memory that is read through
// us never shows them.
func TestTextWhileHeld(t *testing.T) {
	needX86(t)
	for _, kind := range []string{"many", "all"} {
		t.Run(kind, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "calls.c"), "-t", "3", "-f", kind)
			g.Ready()
			for range ptest.Rounds(2, 5, 50) {
				held(t, g, names(kind))
				ptest.TextIntact(t, g.PID)
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("%v: %s", state, out)
			}
		})
	}
}

// names returns the functions that calls -f KIND calls.
func names(kind string) []string {
	var list []string
	if kind == "many" {
		for i := range 50 {
			list = append(list, "many_"+strconv.Itoa(i))
		}
		return list
	}
	for _, k := range strings.Fields(kindsOfCalls) {
		list = append(list, "f_"+k)
	}
	return list
}

// held grabs g, sets breakpoints at functions, holds g several times when they have been
// hit, and releases it.
func held(t *testing.T, g *ptest.Target, functions []string) {
	t.Helper()
	bus := notify.NewBus()
	stops := bus.Subscribe(notify.Stopped)
	defer stops.Close()
	c := grab(t, g.PID, &Options{Bus: bus, Trap: TrapInt3})
	defer release(t, c, ModeRun)
	var breaks []*SymbolBreak
	hits := 0
	for _, name := range functions {
		b, err := c.BreakSymbol(bg, "", name, 0, func(h *Hit) {
			if hits++; hits%1000 == 0 {
				h.Hold()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Addrs()) != 1 {
			t.Fatalf("%s: at %x", name, b.Addrs())
		}
		breaks = append(breaks, b)
	}
	addr := breaks[0].Addrs()[0]
	var own []byte
	for range 3 {
		if e := next(t, stops); e.Kind != notify.Stopped || e.Point != notify.PointHit {
			t.Fatalf("%+v", e)
		}
		ptest.TextIntact(t, g.PID)
		own = text(t, g.PID, addr)
		if err := c.Continue(bg); err != nil {
			t.Fatal(err)
		}
	}
	through := make([]byte, len(own))
	if err := c.Do(bg, func() {
		if bytes.Equal(text(t, g.PID, addr), own) && c.rendezvous.held.Load() == 0 {
			t.Error("a running target has no trap: the test shows nothing")
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadAt(through, int64(addr)); err != nil || !bytes.Equal(through, own) {
		t.Errorf("read %x through the controller, %v; it is %x", through, err, own)
	}
	for _, b := range breaks {
		if b.Hits() == 0 {
			t.Errorf("%s was not hit", b.Symbol())
		}
	}
}

// text reads 16 bytes of text as any program would.
func text(t *testing.T, pid int, addr uint64) []byte {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 16)
	if _, err := f.ReadAt(b, int64(addr)); err != nil {
		t.Fatal(err)
	}
	return b
}
