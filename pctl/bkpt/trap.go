package bkpt

// A Stop is what a thread's signal-delivery-stop shows: of a SIGTRAP the si_code;
// of the signal of a kernel probe the address that was probed; and the program
// counter.
type Stop struct {
	Code   int32
	Probed uint64
	PC     uint64
}

// A Trap is a way to make threads stop at an address, or to count them there.
// Its methods are called from the control goroutine.
type Trap interface {
	// Plant makes the breakpoints in bs stop every thread that reaches
	// them, and marks them armed. They are in ascending order, and none is
	// planted.
	Plant(t *Table, bs []*Breakpoint) error
	// Lift undoes Plant.
	Lift(t *Table, bs []*Breakpoint) error
	// Recognise returns the address of the breakpoint that a stop belongs
	// to; ok is false if the stop cannot be of this kind of trap. Whether
	// there is, or was, a breakpoint at that address is the table's to say,
	// except for a lasting kind, which must know its own.
	Recognise(s Stop) (addr uint64, ok bool)
	// Lasting reports that the kernel keeps the trap: it stays while the
	// table is disarmed, is taken out of fork children and gone after exec
	// without us, and stops a thread behind the instruction, which has run.
	Lasting() bool
}
