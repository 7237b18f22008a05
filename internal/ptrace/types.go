package ptrace

// Options of Seize and SetOptions (ptrace(2), PTRACE_O_).
type Options uintptr

const (
	OptSysGood Options = 1 << iota
	OptFork
	OptVfork
	OptClone
	OptExec
	OptVforkDone
	OptExit
	OptExitKill Options = 1 << 20
)

// SigInfo is the kernel's siginfo_t of a signal-delivery-stop.
type SigInfo struct {
	Signo, Errno, Code int32
	_                  int32
	// Fields is the union that follows: for a fault, its first word is the address;
	// for a signal that a process sent, PID and UID.
	Fields [14]uint64
}

// Codes of a SIGTRAP's siginfo.
const (
	SIKernel  = 0x80 // the kernel: an instruction that traps, a probe
	TrapBrkpt = 1    // a single step that ended in a system call
	TrapTrace = 2    // a single step
	TrapPerf  = 6    // a perf event with sigtrap
)

// Command is a program to be started under control.
type Command struct {
	Path  string    // of the executable; no search is made
	Args  []string  // argv, with argv[0]
	Env   []string  // environment
	Dir   string    // working directory, "" to keep ours
	Files []uintptr // descriptors 0, 1, … of the program
}
