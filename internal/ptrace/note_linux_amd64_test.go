package ptrace

import "testing"

// TestNote: the next tracer finds what a tracer has written to the debug status register of a thread. No other
// thread has it.
func TestNote(t *testing.T) {
	cat, other := startCat(t), startCat(t)
	const note = 0x123456789abc0000
	for i := range 3 {
		traceBriefly(t, []int{cat.PID}, func(tid int) error {
			if err := Interrupt(tid); err != nil {
				return err
			}
			if _, err := WaitTID(tid, true); err != nil {
				return err
			}
			if got, err := Note(tid); i > 0 && got != note || err != nil {
				t.Errorf("note %#x, %v", got, err)
			}
			if err := SetNote(tid, note); err != nil {
				return err
			}
			return Detach(tid, 0)
		})
		echo(t, cat)
	}
	x := newTracer(t)
	x.seize(other.PID, 0)
	x.halt(other.PID)
	if got, err := Note(other.PID); got == note || err != nil {
		t.Errorf("another thread has %#x, %v", got, err)
	}
}
