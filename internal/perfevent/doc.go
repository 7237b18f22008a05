// Package perfevent opens the kernel's uprobes, breakpoints that the kernel plants,
// steps and lifts, also when we are killed; and timers of the processors, which sample the threads of wanted
// processes while they run ([Ticker]); and what the kernel knows of all threads of a process at once ([Tasks]).
//
// A probe is a BPF link of the uprobe_multi kind (Linux 6.6) at one instruction of
// a file, in all threads of one process, those that come included; nothing has to
// be done for each thread. It runs a small program when a thread arrives. That of
// [Signals] sends the thread a signal, for its tracer to see, and keeps its
// registers; that of [Counter] counts and stops no thread.
//
// What probes do to a process's children: a forked one has the traps in its text,
// as a copy; the program does nothing there, and the kernel takes the traps out of
// all copies when the probe is closed. One that shares the memory runs over them.
//
// The first probe in a while takes some 8 milliseconds to open and each further one
// tens of microseconds. Closing one takes tens of milliseconds, nearly all of
// which are waits for grace periods of the kernel, so a [Closer] closes all at the
// same time in the background. Each is closed by a process of its own: a thread that is
// killed while it closes one leaves the trap in the text. When we are killed the kernel
// closes them one after the other.
//
// Probes need CAP_BPF and CAP_PERFMON or CAP_SYS_ADMIN, and a private
// file-backed mapping of the instruction.
package perfevent
