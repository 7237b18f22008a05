package unwind

import (
	"slices"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// TestPopped follows a program instruction by instruction. At each of them the stack is the
// same with and without the words below the stack pointer, from which epilogues have
// restored registers.
func TestPopped(t *testing.T) {
	target := ptest.Start(t, c("chain.c")(t)...)
	target.Ready()
	space := openSpace(t, target.PID)
	r := seize(t, target.PID)
	defer r.release()
	tid := r.tids[0]
	if !r.stop(tid) {
		t.Fatal("it is gone")
	}
	u := New(space)
	const redZone = 128
	steps := ptest.Rounds(3000, 20_000, 20_000)
	differ := 0
	var with, without []Frame
	for i := 0; i < steps && differ < 5; i++ {
		var regs ptrace.Regs
		if err := ptrace.GetRegs(tid, &regs); err != nil {
			t.Fatal(err)
		}
		n, _ := r.mem.ReadAt(r.stack, int64(regs.SP()-redZone))
		var end, end2 End
		with, end = u.Unwind(&regs, Stack{Base: regs.SP() - redZone, Data: r.stack[:n]}, with[:0])
		without, end2 = u.Unwind(&regs, Stack{Base: regs.SP(), Data: r.stack[redZone:n]}, without[:0])
		if end != end2 || !slices.Equal(with, without) {
			differ++
			t.Errorf("step %d: %v %v\nwithout: %v %v", i, end, space.names(with), end2, space.names(without))
		}
		if err := ptrace.SingleStep(tid, 0); err != nil {
			t.Fatal(err)
		}
		if s, err := ptrace.Wait(true); err != nil || s.TID != tid {
			t.Fatalf("after a step: %+v, %v", s, err)
		}
	}
	if err := ptrace.Cont(tid, 0); err != nil {
		t.Fatal(err)
	}
}
