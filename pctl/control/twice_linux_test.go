package control

import (
	"errors"
	"io"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// order gives twice.c orders.
func order(t *testing.T, g *ptest.Target, orders string) {
	t.Helper()
	for _, letter := range orders {
		if _, err := io.WriteString(g.Stdin, string(letter)); err != nil {
			t.Fatal(err)
		}
		if answer := g.Line(); !strings.HasPrefix(answer, string(letter)+" ") {
			t.Fatalf("%c: %q", letter, answer)
		}
	}
}

// TestMappedTwice: a breakpoint by symbol has the hits of all mappings of its text, those included that come later without
// the run-time linker, and text that is moved. A breakpoint by address has the hits at its address. In a process that has the
// kernel's trap in a second mapping it can be set anew.
func TestMappedTwice(t *testing.T) {
	t.Parallel()
	needUprobes(t)
	for name, handler := range map[string]Handler{"counted": nil, "stopping": func(*Hit) {}} {
		t.Run(name, func(t *testing.T) {
			for before, orders := range map[string]string{"": "oomcccocrccouomcc", "m": "ccoorccu", "mr": "cocuooo"} {
				g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "twice.c"))
				g.Ready()
				order(t, g, before)
				c := attach(t, g.PID, &Options{Trap: TrapUprobe})
				s, err := c.BreakSymbol(bg, "", "twice_called", 0, handler)
				if err != nil {
					t.Fatal(err)
				}
				own, err := c.Break(bg, c.Space().ByName("a.out", "twice_called")[0].Addr, handler)
				if err != nil {
					t.Fatal(err)
				}
				order(t, g, orders)
				atSymbol, atAddr := uint64(strings.Count(orders, "c")+strings.Count(orders, "o")), uint64(strings.Count(orders, "o"))
				c.Pause(bg, func(*Stopped) error { return nil })
				if s.Hits() != atSymbol || own.Hits() != atAddr {
					t.Errorf("%s: by symbol %d hits of %d, by address %d of %d", orders, s.Hits(), atSymbol, own.Hits(), atAddr)
				}
				release(t, c, ModeRun)
				g.Stdin.Close()
				g.Wait()
			}
		})
	}
}

// TestMovedInt3: an int3 that the program moves with its text is still ours.
func TestMovedInt3(t *testing.T) {
	needX86(t)
	for _, paused := range []bool{false, true} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "twice.c"))
		g.Ready()
		order(t, g, "m")
		c := attach(t, g.PID, &Options{Trap: TrapInt3})
		events := c.Bus().Subscribe(notify.BreakEnd)
		s, err := c.BreakSymbol(bg, "", "twice_called", 0, func(*Hit) {})
		if err != nil {
			t.Fatal(err)
		}
		order(t, g, "ocr")
		if paused {
			c.Pause(bg, func(*Stopped) error { return nil })
			if e, err := events.Next(bg); err != nil || e.Kind != notify.BreakEnd {
				t.Error(e, err)
			}
		}
		order(t, g, "coco")
		if s.Hits() != 6 {
			t.Errorf("paused %t: %d hits of 6", paused, s.Hits())
		}
		events.Close()
		release(t, c, ModeRun)
		order(t, g, "oc")
		g.Stdin.Close()
		if state := g.Wait(); !state.Success() {
			t.Error(state)
		}
	}
}

// TestMappedAgain: hits of an int3's text that the program maps again itself are not counted, and that is said at the end.
func TestMappedAgain(t *testing.T) {
	needX86(t)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "twice.c"))
	g.Ready()
	order(t, g, "m")
	c := attach(t, g.PID, &Options{Trap: TrapInt3})
	events := c.Bus().Subscribe(notify.BreakRefused)
	defer events.Close()
	s, err := c.BreakSymbol(bg, "", "twice_called", 0, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	order(t, g, "ocumco")
	release(t, c, ModeRun)
	if e, err := events.Next(bg); err != nil || !errors.Is(e.Err, ErrMappedAgain) || e.Symbol != "twice_called" || s.Hits() != 3 {
		t.Errorf("%d hits of 3 that can be counted; %+v, %v", s.Hits(), e, err)
	}
	order(t, g, "co")
	g.Stdin.Close()
	if state := g.Wait(); !state.Success() {
		t.Error(state)
	}
}
