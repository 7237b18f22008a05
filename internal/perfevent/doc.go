// Package perfevent opens three things in the kernel:
//   - Uprobes: breakpoints that the kernel plants, steps and lifts. It also lifts them when we are killed.
//   - Timers of the processors, which sample the threads of wanted processes while they run ([Ticker]).
//   - What the kernel knows of all threads of a process at once ([Tasks]).
//
// A probe is a BPF link of the uprobe_multi kind (Linux 6.6) at one instruction of
// a file, or, on older kernels, a perf event of the uprobe PMU (Linux 4.17) with a BPF
// program. It is in all threads of one process, new ones included: nothing has to be
// done for each thread. It runs a small program when a thread reaches the
// instruction. The program of [Signals] sends the thread a signal, which its tracer
// sees, and keeps the thread's registers. The program of [Counter] counts, and stops
// no thread.
//
// A forked child of the process has a copy of the traps in its text. The program does
// nothing there, and the kernel removes the traps from all copies when the probe is
// closed. A child that shares the memory runs over the traps.
//
// The first probe in a while takes some 8 milliseconds to open, and each further one
// tens of microseconds. Closing a probe takes tens of milliseconds, nearly all of them
// waits for grace periods of the kernel. So a [Closer] closes all probes at the same
// time in the background. Each probe is closed by a separate process, because a thread
// that is killed while it closes a probe leaves the trap in the text. When we are
// killed the kernel closes the probes one after the other.
//
// Probes need CAP_BPF and CAP_PERFMON or CAP_SYS_ADMIN, and a private
// file-backed mapping of the instruction.
package perfevent
