package tracee

// Mode says what becomes of the target when it is released.
type Mode uint8

const (
	// ModeRun lets it run on, or leaves it stopped if it was stopped from outside.
	ModeRun Mode = iota
	// ModeKill ends it with SIGKILL, also when the program that controls it dies
	// (PTRACE_O_EXITKILL). While it is stopped from outside it is left stopped instead.
	ModeKill
	// ModeStop leaves it stopped as by SIGSTOP, without another instruction executed.
	ModeStop
)

var modeNames = [...]string{"running", "killed", "stopped"}

// String returns the participle that follows "released, ".
func (m Mode) String() string { return modeNames[m] }
