// Package perfevent opens the kernel's uprobes: breakpoints that the kernel plants,
// steps and lifts, also when we are killed.
//
// An [Event] of perf_event_open(2) belongs to one thread. It counts the times that thread reaches an
// instruction of a file, in the kernel and without stopping anybody; with
// [Options.SigTrap] each time also raises a synchronous SIGTRAP in the thread,
// whose si_code is TRAP_PERF and whose si_perf_data is [Options.SigData]. The
// program counter is then behind the instruction.
//
// Threads that an event's thread creates are not covered: inheritance would have
// the kernel read our path pointer in their creator's memory (perf_uprobe_init
// copies it anew for each child), and clone(2) would fail there.
//
// Opening takes tens of microseconds. Closing takes 60 to 110 milliseconds, all but
// the first moment of which are RCU grace periods that the kernel waits for under
// a lock (event_mutex), one event at a time; opening needs that lock too. So a
// [Closer] closes in the background, and the number of events has to stay small:
// a hundred take ten seconds to close, also when we are killed.
//
// [Counters] count without these limits, where BPF may be used: one descriptor for
// all threads of a process, present and future, and all instructions of a file.
// [Signals] stop threads in the same way, and know their registers from before the
// instruction.
//
// An event needs CAP_PERFMON or CAP_SYS_ADMIN, and a file-backed mapping of the
// instruction. exec removes it.
package perfevent
