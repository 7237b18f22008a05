package bkpt

// A Kind of trap is a way to make threads stop at an address, or to count them there.
// Its methods are called from the control goroutine.
type Kind interface {
	// Plant makes the breakpoints in bs stop every thread that reaches
	// them, and marks them armed. They are in ascending order, and none is
	// planted.
	Plant(t *Table, bs []*Breakpoint) error
	// Lift undoes Plant.
	Lift(t *Table, bs []*Breakpoint) error
	// Lasting reports that the kernel keeps the trap: it stays while the
	// table is disarmed, is taken out of fork children and gone after exec
	// without us, and stops a thread behind the instruction, which has run.
	Lasting() bool
}
