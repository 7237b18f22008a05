package control

import (
	"strconv"
	"strings"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// epollWait is the number of epoll_wait(2) of x86-64.
const epollWait = 232

// TestStepOverCall: a call that returns EINTR at any interruption is made again also where it is stopped during the step over a
// breakpoint, and is not reported again; and where the step was asked for.
func TestStepOverCall(t *testing.T) {
	needX86(t)
	for _, lone := range []bool{false, true} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "testdata/stepcall.c", "-no-pie"))
		g.Ready()
		w := &walker{T: t, g: g, c: attach(t, g.PID, &Options{Trap: TrapInt3})}
		call := w.at("wait_call")
		var b *Break
		if lone {
			g.Stdin.Write([]byte("x"))
			for pc := w.stop(); pc != call; pc = w.step() {
			}
			go w.lone.Step(bg, func(*ptrace.Regs) {}) // it ends with the call, or with control
		} else {
			var err error
			if b, err = w.c.Break(bg, call, func(*Hit) {}); err != nil {
				t.Fatal(err)
			}
			g.Stdin.Write([]byte("x")) // calls before that would be no hits
		}
		for range 20 {
			g.WaitFor("a thread that waits", func() bool {
				in, err := procfs.ReadSyscall(g.PID, g.PID)
				return err == nil && !in.Running && in.Nr == epollWait
			})
			if err := w.c.Pause(bg, func(*Stopped) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if lone {
				release(t, w.c, ModeRun)
				break
			}
		}
		g.Stdin.Write([]byte("x"))
		out := strings.TrimSpace(g.Output())
		if s := g.Wait(); !s.Success() {
			t.Errorf("lone: %v: it ended with %v", lone, s)
		}
		if lone {
			continue
		}
		if calls, err := strconv.ParseUint(out, 10, 64); err != nil || b.Hits() > calls || b.Hits()+1 < calls {
			t.Errorf("%d hits of %s calls", b.Hits(), out)
		}
	}
}
