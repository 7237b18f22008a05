// Package need says what the features of the kernel that the tools use take, and what of it a refusal shows to be missing.
// The table of features is in features.go. Messages about a refusal come from [Feature.Explain].
package need

// A Lockdown is how far a kernel is locked down (kernel_lockdown(7)).
type Lockdown uint8

const (
	Unlocked Lockdown = iota
	Integrity
	Confidentiality
)

var lockdownNames = [...]string{"none", "integrity", "confidentiality"}

// String returns the kernel's word.
func (l Lockdown) String() string { return lockdownNames[l] }

// A Sysctl is a bound on a number in /proc/sys.
type Sysctl struct {
	Name string // of the file in /proc/sys, with dots
	Most int    // the largest value that allows it
}

// A Feature is something that the kernel does for programs that it lets. The zero value takes nothing.
type Feature struct {
	Name  string         // in the plural, for messages
	Linux string         // first version that has it; empty: all that the tools run on
	Sets  [][]Capability // any one of the sets suffices
	First bool           // the capabilities must be those of the first user namespace
	Calls []Call         // system calls that a seccomp filter may refuse
	Odd   bool           // a kernel that does not have it says EINVAL
	Until Lockdown       // the first lockdown that refuses it; Unlocked: none does
	Open  Sysctl         // allows it without the capabilities; no Name: there is none
	Shut  Sysctl         // above its bound it is refused whatever the capabilities are
}

var tracing = [][]Capability{{BPF, Perfmon}, {SysAdmin}}

// What the tools use. Two things are of another kind: whose process it is ([pctl.Error] has the cause), and memory
// that is locked ([MemlockError]).
var (
	// Timers: a perf event of each processor with a BPF program (internal/perfevent, Ticker).
	Timers = Feature{Name: "timers of the processors", Linux: "5.9", Sets: tracing, First: true, Calls: []Call{PerfEventOpen, BPFCall}}
	// Uprobes: a BPF program at an instruction (internal/perfevent, Signals and Counter). bpf_send_signal_thread is of 5.5.
	Uprobes = Feature{Name: "uprobes", Linux: "5.5", Sets: tracing, First: true, Calls: []Call{BPFCall}}
	// UprobeEvents: the same by perf events, on kernels without uprobe_multi links.
	UprobeEvents = Feature{Name: "uprobes by perf events", Linux: "5.5", Sets: tracing, First: true, Calls: []Call{BPFCall, PerfEventOpen}}
	// TraceEvents: uprobes at many places at once, by events of the kernel's tracing, on kernels without uprobe_multi links. tracefs is
	// mounted for that, where none is at /sys/kernel/tracing.
	TraceEvents = Feature{
		Name: "uprobes by tracefs", Linux: "5.12", Sets: [][]Capability{{SysAdmin}}, First: true, Calls: []Call{BPFCall, PerfEventOpen}, Until: Confidentiality,
	}
	// Tasks: a BPF program for each thread of a process (internal/perfevent, Tasks). It reads memory of the kernel.
	Tasks = Feature{Name: "iterators of threads", Linux: "5.15", Odd: true, Sets: tracing, First: true, Calls: []Call{BPFCall}, Until: Confidentiality}
	// Peeks: a BPF program on the processor that a thread runs on (internal/perfevent, Peeker).
	Peeks = Feature{Name: "looks at running threads", Linux: "5.15", Odd: true, Sets: tracing, First: true, Calls: []Call{BPFCall}, Until: Confidentiality}
	// Accounting: sums over the threads of a process by taskstats (internal/procfs).
	Accounting = Feature{Name: "counts of context switches by taskstats", Sets: [][]Capability{{NetAdmin}}, First: true}
	// KernelSymbols: addresses in /proc/kallsyms.
	KernelSymbols = Feature{
		Name: "kernel symbols", Sets: [][]Capability{{Syslog}}, First: true, Shut: Sysctl{"kernel.kptr_restrict", 1},
	}
	// Tracing: ptrace(2) of a process with the same user.
	Tracing = Feature{Name: "grabs", Calls: []Call{Ptrace}}
	// Foreigners: ptrace(2) of the processes of other users, and of those that are no descendants where Yama asks for that.
	Foreigners = Feature{Name: "grabs of other users' processes", Sets: [][]Capability{{SysPtrace}}, Calls: []Call{Ptrace}}
	// ForeignMemory: /proc/PID/mem of another user's process.
	ForeignMemory = Feature{
		Name: "reads and writes of other users' memory", Sets: [][]Capability{{SysPtrace, DACOverride}}, Calls: []Call{ProcessVMReadv},
	}
	// LostFiles: files that a process has mapped and that have no name any more, by /proc/PID/map_files.
	LostFiles = Feature{Name: "deleted files of processes", Sets: [][]Capability{{CheckpointRestore}, {SysAdmin}}, First: true}
	// Sockets: pidfd_getfd(2), for the timeouts of calls that wait for a socket.
	Sockets = Feature{Name: "timeouts of sockets", Linux: "5.6", Calls: []Call{PIDFDGetfd}}
	// Priority: the control thread and the guard run before others.
	Priority = Feature{Name: "priorities of real time", Sets: [][]Capability{{SysNice}}, First: true}
)

// All are all features, for tests and tables.
var All = []*Feature{
	&Timers, &Uprobes, &UprobeEvents, &TraceEvents, &Tasks, &Peeks, &Accounting, &KernelSymbols, &Tracing, &Foreigners, &ForeignMemory,
	&LostFiles, &Sockets, &Priority,
}
