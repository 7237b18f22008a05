package control

import (
	"errors"
	"testing"

	"ptools/internal/guard"
	"ptools/internal/mem"
	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestKillRisk: KillRisk says why a breakpoint is no uprobe and that there is no guard. It does so for the
// present program, and only where it matters.
func TestKillRisk(t *testing.T) {
	needX86(t)
	needUprobes(t)
	exe := ptest.BuildC(t, "calls.c")
	var unforced error
	if !mem.Forces() {
		unforced = errUnforced
	}
	for _, tt := range []struct {
		name, symbol string
		o            Options
		want         KillRisk
	}{
		{"uprobe", "f_push", Options{}, KillRisk{}},
		{"no breakpoint", "", Options{Trap: TrapInt3, Guard: new(guard.Guard)}, KillRisk{}},
		{"int3", "f_push", Options{Trap: TrapInt3, Guard: new(guard.Guard)}, KillRisk{Int3s: true, NoGuard: unforced}},
		{"int3 without guard", "f_push", Options{Trap: TrapInt3}, KillRisk{Int3s: true, NoGuard: errNoGuard}},
		{"int3 instead", "f_cpuid", Options{}, KillRisk{Int3s: true, NoUprobe: errNotProbeable, NoGuard: errNoGuard}},
		{"killed with us", "f_cpuid", Options{Mode: ModeKill}, KillRisk{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, exe, "-f", "all")
			g.Ready()
			tt.o.Stop = []notify.Point{notify.Grab}
			c := attach(t, g.PID, &tt.o)
			if err := c.Continue(bg); err != nil {
				t.Fatal(err)
			}
			if tt.symbol != "" {
				if _, err := c.BreakSymbol(bg, "", tt.symbol, 0, func(*Hit) {}); err != nil {
					t.Fatal(err)
				}
			}
			got := c.KillRisk()
			if got.Int3s != tt.want.Int3s || !errors.Is(got.NoUprobe, tt.want.NoUprobe) || !errors.Is(got.NoGuard, tt.want.NoGuard) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestKillRiskOfText: a probe in text that a client writes to becomes an int3.
func TestKillRiskOfText(t *testing.T) {
	needX86(t)
	needUprobes(t)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "calls.c"), "-f", "push")
	g.Ready()
	c := attach(t, g.PID, nil)
	b, err := c.BreakSymbol(bg, "", "f_push", 0, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	if e := c.KillRisk(); e.Int3s {
		t.Errorf("before: %+v", e)
	}
	at, text := int64(b.Addrs()[0]), make([]byte, 4)
	if _, err := c.ReadAt(text, at); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WriteAt(text, at); err != nil {
		t.Fatal(err)
	}
	if e := c.KillRisk(); !e.Int3s || !errors.Is(e.NoUprobe, errTextChanged) {
		t.Errorf("after: %+v", e)
	}
}

// TestKillRiskAfterExec: the breakpoints of the program before an exec are no danger to the new one.
func TestKillRiskAfterExec(t *testing.T) {
	needX86(t)
	bus := notify.NewBus()
	stops := bus.Subscribe(notify.Stopped)
	defer stops.Close()
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: TrapInt3, Bus: bus}, "/bin/sh", "-c", "exec true")
	next(t, stops)
	var pc uint64
	if err := c.Pause(bg, func(s *Stopped) error {
		regs, err := s.Threads()[0].Regs()
		if err == nil {
			pc = regs.PC()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Break(bg, pc, nil); err != nil {
		t.Fatal(err)
	}
	if e := c.KillRisk(); !e.Int3s || e.NoGuard == nil {
		t.Errorf("before: %+v", e)
	}
	if err := c.StopAt(bg, notify.PointExec); err != nil {
		t.Fatal(err)
	}
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	if e := next(t, stops); e.Point != notify.PointExec {
		t.Fatalf("%+v", e)
	}
	if e := c.KillRisk(); e != (KillRisk{}) {
		t.Errorf("after: %+v", e)
	}
	finish(t, c, out)
}
