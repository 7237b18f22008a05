package control

import (
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestUntraced: the kernel does not report a process that is made with CLONE_UNTRACED. It passes uprobes, and
// runs as it does alone. Int3s end it: there is no way to see it.
func TestUntraced(t *testing.T) {
	needX86(t)
	for trap, end := range map[Trap]int{TrapUprobe: 0, TrapInt3: 5} {
		t.Run(trap.String(), func(t *testing.T) {
			if trap == TrapUprobe {
				needUprobes(t)
			}
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "untraced.c"))
			g.Ready()
			c := attach(t, g.PID, &Options{Trap: trap})
			if _, err := c.BreakSymbol(bg, "", "in_child", 0, func(*Hit) {}); err != nil {
				t.Fatal(err)
			}
			if _, state := g.Finish(); state.ExitCode() != end {
				t.Errorf("it ends with %v, want status %d, of its child's signal", state, end)
			}
		})
	}
}

// TestUntracedExec: a thread that is made with CLONE_UNTRACED executes a program, and then no thread is traced
// any more. The process stays controlled: the exec is reported, and breakpoints are those of the new program.
func TestUntracedExec(t *testing.T) {
	for _, trap := range []Trap{TrapInt3, TrapUprobe} {
		t.Run(trap.String(), func(t *testing.T) {
			if trap == TrapUprobe {
				needUprobes(t)
			}
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "untracedexec.c"))
			g.Ready()
			bus := notify.NewBus()
			events := bus.Subscribe(notify.Exec)
			defer events.Close()
			c := attach(t, g.PID, &Options{Trap: trap, Bus: bus})
			hits := 0
			if _, err := c.BreakSymbol(bg, "", "pass", 0, func(*Hit) { hits++ }); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Stdin.Write([]byte("\n")); err != nil {
				t.Fatal(err)
			}
			if e := await(t, events, notify.Exec); e.Path == "" {
				t.Errorf("%+v", e)
			}
			g.Until("again")
			if g.TracerPID() == 0 {
				t.Error("it is not traced")
			}
			if err := c.Pause(bg, func(s *Stopped) error {
				if n := len(s.Threads()); n != 1 {
					t.Errorf("%d threads", n)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v, %q", state, out)
			}
			<-c.Done()
			if hits != 1 {
				t.Errorf("%d hits", hits)
			}
		})
	}
}
