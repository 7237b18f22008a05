package control

import (
	"errors"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestMappedUnprobed: the kernel plants no uprobe where text is mapped shared, or can be written. That hits are missed there is said when
// the breakpoint ends, also if that mapping is gone by then, with its process or before. It is not said of mappings that were there before
// the breakpoint, or of others.
func TestMappedUnprobed(t *testing.T) {
	needX86(t)
	needUprobes(t)
	for _, handler := range []Handler{nil, func(*Hit) {}} {
		for _, s := range []struct {
			before, orders string
			hits           uint64
			end            string
			want           error
		}{
			{"", "osccuo", 2, "exit", ErrMappedUnprobed},
			{"", "osccuo", 2, "release", ErrMappedUnprobed},
			{"", "osco", 2, "remove", ErrMappedUnprobed},
			{"", "owco", 2, "exit", ErrMappedUnprobed},
			{"", "owcusco", 2, "release", ErrMappedUnprobed},
			{"", "omcuo", 3, "exit", nil},
			{"su", "omco", 3, "exit", nil},
		} {
			hits, missed := misses(t, &Options{Trap: TrapUprobe}, handler, s.before, s.orders, s.end)
			if hits != s.hits || !errors.Is(missed, s.want) {
				t.Errorf("%s, then %s and %s: %d hits, want %d; missed: %v, want %v", s.before, s.orders, s.end, hits, s.hits, missed, s.want)
			}
		}
	}
}

// misses runs twice.c with a breakpoint that is set after some orders. It returns its hits, and what it is said to have missed by its end.
func misses(t *testing.T, o *Options, h Handler, before, orders, end string) (hits uint64, missed error) {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "twice.c"))
	g.Ready()
	order(t, g, before)
	c := attach(t, g.PID, o)
	events := c.Bus().Subscribe(notify.BreakRefused, notify.Undead, notify.Released)
	defer events.Close()
	s, err := c.BreakSymbol(bg, "", "twice_called", 0, h)
	if err != nil {
		t.Fatal(err)
	}
	order(t, g, orders)
	switch end {
	case "exit":
		g.Stdin.Close()
		<-c.Done()
	case "remove":
		if err := s.Remove(bg); err != nil {
			t.Error(err)
		}
		fallthrough
	default:
		release(t, c, ModeRun)
		g.Stdin.Close()
	}
	for n := 0; ; {
		e, err := events.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != notify.BreakRefused {
			break
		}
		if n++; n > 1 || e.Symbol != "twice_called" || e.Addr == 0 {
			t.Errorf("%+v", e)
		}
		missed = e.Err
	}
	if state := g.Wait(); !state.Success() {
		t.Error(state)
	}
	return s.Hits(), missed
}
