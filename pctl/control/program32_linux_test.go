package control

import (
	"errors"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestProgram32: it is reported that the target has executed a 32-bit program. Visits cut none of its calls
// short, and it has no breakpoints.
func TestProgram32(t *testing.T) {
	t.Parallel()
	needX86(t)
	exe := ptest.Build32(t)
	bus := notify.NewBus()
	s := bus.Subscribe(notify.Exec)
	defer s.Close()
	c, _ := run(t, &Options{Bus: bus}, "/bin/sh", "-c", "exec "+exe)
	if e := await(t, s, notify.Exec); !errors.Is(e.Err, Err32Bit) || !errors.Is(e.Err, errors.ErrUnsupported) {
		t.Errorf("told of: %v", e.Err)
	}
	var pc uint64
	for range 30 {
		err := c.Pause(bg, func(s *Stopped) error {
			regs, err := s.Thread(c.PID()).Regs()
			if err != nil {
				return err
			}
			if pc = regs.PC(); !regs.Is32Bit() {
				t.Errorf("registers of 64-bit code: %+v", *regs)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Break(bg, pc, nil); !errors.Is(err, Err32Bit) {
		t.Errorf("breakpoint: %v", err)
	}
	if e := await(t, s, notify.Undead); !e.Exited || e.Code != 7 {
		t.Errorf("ended with %+v", e)
	}

	c, _ = run(t, nil, exe)
	if err := c.Lacked(); !errors.Is(err, Err32Bit) {
		t.Errorf("created: %v", err)
	}
}
