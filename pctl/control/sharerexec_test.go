package control

import (
	"testing"

	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// TestSharerAcrossExec: a process that shares the memory of one that executes a program goes on in that memory, also where it is
// on its way past a breakpoint, or has run into one.
func TestSharerAcrossExec(t *testing.T) {
	needX86(t)
	other := ptest.BuildC(t, "testdata/sharer.c", "-no-pie", "-DOTHER")
	start := func(t *testing.T, m Mode, symbol string) (*ptest.Target, *Controller) {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "testdata/sharer.c", "-no-pie"), other)
		g.Ready()
		c := attach(t, g.PID, &Options{Trap: TrapInt3, Mode: m})
		if b, err := c.BreakSymbol(bg, "", symbol, 0, func(*Hit) {}); err != nil || len(b.Addrs()) != 1 {
			t.Fatal(b, err)
		}
		return g, c
	}
	end := func(t *testing.T, g *ptest.Target) {
		g.Stdin.Write([]byte("yx")) // once more
		if s := g.Wait(); !s.Success() {
			t.Errorf("it ended with %v", s)
		}
	}
	t.Run("break", func(t *testing.T) {
		g, c := start(t, ModeRun, "sharer_call")
		spot := c.Space().ByName("", "sharer_spot")[0].Addr
		if err := c.Do(bg, func() {
			g.Stdin.Write([]byte("e"))
			g.WaitFor("the exec", func() bool {
				exe, _ := procfs.Exe(g.PID)
				return exe == other && g.State() == 't'
			})
			c.traps.addBreak(c.image.program, spot, func(*Hit) {}, toStop) // it may be refused
		}); err != nil {
			t.Fatal(err)
		}
		g.Until("after")
		children, err := procfs.Children(g.PID, g.PID)
		if err != nil || len(children) != 1 {
			t.Fatal(children, err)
		}
		var now [1]byte
		m, err := mem.Open(children[0])
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if _, err := m.ReadAt(now[:], int64(spot)); err != nil || now[0] != 0x90 {
			t.Errorf("its text is %#x, %v", now, err)
		}
		end(t, g)
	})
	t.Run("call", func(t *testing.T) {
		g, _ := start(t, ModeRun, "sharer_call")
		g.Stdin.Write([]byte("e"))
		g.Until("after")
		end(t, g)
	})
	for _, m := range []Mode{ModeRun, ModeKill} {
		t.Run("hit "+m.String(), func(t *testing.T) {
			g, c := start(t, m, "sharer_spot")
			if err := c.Do(bg, func() {
				g.Stdin.Write([]byte("e"))
				g.WaitFor("the exec", func() bool {
					exe, _ := procfs.Exe(g.PID)
					return exe == other && g.State() == 't'
				})
			}); err != nil {
				t.Fatal(err)
			}
			g.Until("after")
			end(t, g)
		})
	}
}
