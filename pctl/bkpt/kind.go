package bkpt

// A Kind of trap is a way to make threads stop at an address, or to count them there.
// Its methods are called from the control goroutine.
type Kind interface {
	// Plant makes the breakpoints in bs stop every thread that reaches
	// them, and marks them armed. They are in ascending order, and none of
	// them is planted.
	Plant(t *Table, bs []*Breakpoint) error
	// Lift undoes Plant.
	Lift(t *Table, bs []*Breakpoint) error
	// Lasting reports that the kernel keeps the trap. The trap stays while
	// the table is disarmed. The kernel removes it from fork children, and it
	// is gone after an exec. It stops a thread behind the instruction, which
	// has run.
	Lasting() bool
}
