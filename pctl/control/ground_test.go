package control

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/bkpt"
	"ptools/pctl/notify"
)

// startRemap starts remap.c and returns the address of its code.
func startRemap(t *testing.T, args ...string) (g *ptest.Target, addr uint64) {
	t.Helper()
	g = ptest.StartWith(t, &ptest.Options{Foreign: true}, append([]string{ptest.BuildC(t, "remap.c")}, args...)...)
	addr, err := strconv.ParseUint(g.Line(), 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	g.Ready()
	return g, addr
}

// tell gives the target commands. Each of them has to succeed.
func tell(t *testing.T, g *ptest.Target, commands string) {
	t.Helper()
	for _, letter := range commands {
		if _, err := io.WriteString(g.Stdin, string(letter)); err != nil {
			t.Fatal(err)
		}
		if answer := g.Line(); answer != "ok" {
			t.Errorf("%c: %s", letter, answer)
		}
	}
}

// TestTextReplaced: an int3 does not return to an address where the program has mapped other memory since, nor to
// text that the program has rewritten. The breakpoint ends, and that is reported.
func TestTextReplaced(t *testing.T) {
	needX86(t)
	for commands, want := range map[string]error{"d": ErrNotText, "w": bkpt.ErrTextRewritten, "": nil, "r": nil} {
		for _, when := range []string{"running", "held"} {
			t.Run(commands+" "+when, func(t *testing.T) { textReplaced(t, commands, when == "held", want) })
		}
	}
}

// textReplaced has the program change its memory, before or while a stop takes the int3 out of it.
func textReplaced(t *testing.T, commands string, twice bool, want error) {
	g, addr := startRemap(t)
	c := attach(t, g.PID, &Options{Trap: TrapInt3})
	s := c.Bus().Subscribe(notify.BreakEnd)
	defer s.Close()
	b, err := c.Break(bg, addr, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	tell(t, g, "c"+commands)
	pause := func() {
		if err := c.Pause(bg, func(*Stopped) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	pause()
	if twice {
		pause()
	}
	if want == nil {
		tell(t, g, "c")
		if b.Hits() != 2 {
			t.Errorf("%d hits of 2", b.Hits())
		}
		return
	}
	tell(t, g, "v")
	e := await(t, s, notify.BreakEnd)
	if e.Addr != addr || e.Hits != 1 || !errors.Is(e.Err, want) {
		t.Errorf("event %+v", e)
	}
	tell(t, g, "rc")
	if b.Hits() != 1 {
		t.Errorf("%d hits of 1", b.Hits())
	}
	if _, err := c.Break(bg, addr, func(*Hit) {}); err != nil {
		t.Errorf("set again: %v", err)
	}
	tell(t, g, "c")
	release(t, c, ModeRun)
	tell(t, g, "cv")
	if _, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v", state)
	}
}

// TestSharedText: no int3 is written to memory that is mapped MAP_SHARED, whatever trap is asked for. The file and
// all other processes would have it.
func TestSharedText(t *testing.T) {
	needX86(t)
	for _, trap := range []Trap{TrapInt3, TrapAuto} {
		t.Run(trap.String(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "text")
			g, addr := startRemap(t, "-k", file)
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := attach(t, g.PID, &Options{Trap: trap})
			if _, err := c.Break(bg, addr, func(*Hit) {}); !errors.Is(err, ErrSharedText) {
				t.Errorf("error %v", err)
			}
			if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, before) {
				t.Errorf("the file has changed: %x, %v", now[:8], err)
			}
			tell(t, g, "kc")
			release(t, c, ModeRun)
			tell(t, g, "vkc")
			if _, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v", state)
			}
		})
	}
}
