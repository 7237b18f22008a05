package ptrace

// Short says what a stop does, beyond EINTR, to a system call that a thread sleeps in. A call
// that has moved something already returns that much, less than it was asked for, whatever
// interrupts it. A thread cannot be moved back to make the rest: it would have to be stopped
// once more to be given the sum. If the tracer died before that, the program would send data
// twice, or miss data that it has received.
type Short uint8

const (
	// Whole: a stop does not shorten the result.
	Whole Short = iota
	// PerhapsShort: the call may return less than it was asked for.
	PerhapsShort
	// ShortOfTerminal: the same, but only if the first argument is a terminal, in raw mode with VMIN.
	ShortOfTerminal
)

var shortNames = [...]string{"whole", "perhaps short", "short of a terminal"}

func (s Short) String() string { return shortNames[s] }
