package control

import (
	"errors"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestAttachDuringExec attaches to a program that executes itself all the time, sets breakpoints at once and releases
// it. An exec may have made the new address space and still be to be reported. Traps that are planted then are in the
// program of which the exec's report says that it is new.
func TestAttachDuringExec(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "execstorm.c"), "-t", "2", "-n", "0")
	g.Ready()
	for range ptest.Rounds(25, 200, 10_000) {
		c, err := Attach(bg, g.PID, &Options{Trap: TrapInt3})
		if errors.Is(err, syscall.ESRCH) {
			continue // in the middle of an exec, between two leaders
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"main", "write", "_dl_debug_state"} {
			if _, err := c.BreakSymbol(bg, "", name, 0, func(*Hit) {}); err != nil {
				t.Error(err)
			}
		}
		release(t, c, ModeRun)
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v, %q", state, out)
	}
}

// TestBreakDuringExec: breakpoints of a program that executes itself all the time are not refused if the text that
// they are planned for has just gone. They wait for the new program.
func TestBreakDuringExec(t *testing.T) {
	for _, trap := range []Trap{TrapUprobe, TrapInt3} {
		t.Run(trap.String(), func(t *testing.T) {
			if trap == TrapUprobe {
				needUprobes(t)
			}
			for _, args := range [][]string{{"-t", "2"}, {"-T", "-t", "2"}} {
				g := ptest.StartWith(t, &ptest.Options{Foreign: true}, append([]string{ptest.BuildC(t, "execstorm.c"), "-n", "0"}, args...)...)
				g.Ready()
				for range ptest.Rounds(3, 12, 250) {
					breakDuringExec(t, g.PID, trap)
				}
				if out, state := g.Finish(); !state.Success() {
					t.Errorf("it ends with %v, %q", state, out)
				}
			}
		})
	}
}

func breakDuringExec(t *testing.T, pid int, trap Trap) {
	c, err := Attach(bg, pid, &Options{Trap: trap})
	if errors.Is(err, syscall.ESRCH) && !errors.Is(err, ErrNoUprobe) {
		return // between two leaders
	}
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, c, ModeRun)
	hit := make(chan struct{}, 1)
	b, err := c.BreakSymbol(bg, "", "main", 0, func(*Hit) {
		select {
		case hit <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Error(err)
		return
	}
	<-hit                                   // of one of the programs to come
	if addrs := b.Addrs(); len(addrs) > 0 { // the next program has its text elsewhere, most likely
		if _, err := c.Break(bg, addrs[0], nil); errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
}

// TestReleaseDuringExec releases a program while a thread that is not its leader executes it again. That thread takes
// the leader's number, perhaps after the leader was detached. No thread is traced when Release returns, and
// breakpoints that were there do no harm.
func TestReleaseDuringExec(t *testing.T) {
	for name, place := range map[string]string{"plain": "", "breakpoints": "write"} {
		t.Run(name, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "execstorm.c"), "-T", "-t", "2", "-n", "0")
			g.Ready()
			for range ptest.Rounds(15, 150, 5000) {
				c, err := Attach(bg, g.PID, &Options{Trap: TrapInt3})
				if errors.Is(err, syscall.ESRCH) {
					continue // in the middle of an exec, between two leaders
				}
				if err != nil {
					t.Fatal(err)
				}
				if place != "" {
					if _, err := c.BreakSymbol(bg, "", place, 0, func(*Hit) {}); err != nil {
						t.Error(err)
					}
				}
				release(t, c, ModeRun)
				if tracer := g.TracerPID(); tracer > 0 {
					t.Fatalf("still traced by %d", tracer)
				}
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v, %q", state, out)
			}
		})
	}
}

// TestBreakAcrossExec sets a breakpoint by symbol in a program that executes another one at that moment. The address
// is that of an instruction in the first program. The other program has the middle of an instruction there, and never
// gets the breakpoint.
func TestBreakAcrossExec(t *testing.T) {
	at := []string{"-static", "-Wl,--section-start=.spot=0x500000"}
	first, other := ptest.BuildC(t, "execother.c", at...), ptest.BuildC(t, "execother.c", append(at, "-DOTHER")...)
	for _, trap := range []Trap{TrapInt3, TrapUprobe} {
		t.Run(trap.String(), func(t *testing.T) {
			rounds := ptest.Rounds(50, 200, 4000)
			if trap == TrapUprobe {
				needUprobes(t)
				rounds /= 5 // closing one takes as long as 20 visits
			}
			truth := ptest.NewTruth(t)
			g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: truth}, first, "-p", other, "-n", "0", "-t", "6", "-u", "400")
			g.Ready()
			for range rounds {
				breakAcrossExec(t, g, trap)
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v, %q", state, out)
			}
		})
	}
}

// breakAcrossExec returns when the other program has looked at its text.
func breakAcrossExec(t *testing.T, g *ptest.Target, trap Trap) {
	c, err := Attach(bg, g.PID, &Options{Trap: trap})
	if errors.Is(err, syscall.ESRCH) {
		return // between two leaders
	}
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, c, ModeRun)
	if _, err := c.BreakSymbol(bg, "", "spot", 0, func(*Hit) {}); err != nil {
		t.Error(err)
	}
	g.AwaitWork(2)
}
