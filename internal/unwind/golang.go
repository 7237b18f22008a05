package unwind

// A goTable is what unwinding needs of the Go linker's function table.
type goTable interface {
	// function describes the function at a link-time address.
	function(pc uint64) (goFunction, bool)
	// delta is the distance from the stack pointer at pc to the return address.
	delta(pc uint64) (int32, bool)
}

// A goFunction is a function of a Go program.
type goFunction struct {
	name       string
	start, end uint64
	top        bool // TOPFRAME: nothing called it
	spWrite    bool // it changes the stack pointer in ways the table does not show
}
