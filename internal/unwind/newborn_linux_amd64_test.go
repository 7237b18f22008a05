package unwind

import (
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// TestNewborn: a thread at its first instruction, in clone, has no caller. On its stack, where others have a return
// address, is the function that it will call.
func TestNewborn(t *testing.T) {
	target := ptest.Start(t, c("firstclone.c")(t)...)
	target.Ready()
	r := seize(t, target.PID)
	defer r.release()
	u := New(openSpace(t, target.PID))
	if _, err := target.Stdin.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for stops := 0; stops < 2; { // the creator's event, and the new thread's first stop
		s, err := ptrace.Wait(true)
		if err != nil {
			t.Fatal(err)
		}
		stops++
		if s.TID != target.PID {
			r.tids = append(r.tids, s.TID)
			var regs ptrace.Regs
			if err := ptrace.GetRegs(s.TID, &regs); err != nil {
				t.Fatal(err)
			}
			frames, end := u.Unwind(&regs, r.copyStack(&regs), nil)
			if len(frames) != 1 || end != Whole {
				t.Errorf("%d frames, %v", len(frames), end)
			}
		}
		if err := ptrace.Cont(s.TID, 0); err != nil {
			t.Fatal(err)
		}
	}
}
