package need

// A Call is a system call that seccomp filters of containers refuse.
type Call uint8

const (
	BPFCall Call = iota
	PerfEventOpen
	Ptrace
	ProcessVMReadv
	PIDFDGetfd
)

var callNames = [...]string{"bpf", "perf_event_open", "ptrace", "process_vm_readv", "pidfd_getfd"}

// String returns the name of the call.
func (c Call) String() string { return callNames[c] }
