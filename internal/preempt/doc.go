// Package preempt shows which thread had a processor at a moment that does not depend on what that thread does, without
// any right but that to read /proc.
//
// The calling thread binds itself to the processor and sleeps until the moment. The interrupt of its timer comes on that
// processor. The scheduler then takes the processor from the thread that runs there and gives it to the caller: in user
// code at once, in a system call at the end of the call at the latest. It writes down the same time, to the nanosecond,
// as the end of the one's run and the beginning of the other's (se.exec_start in /proc/TID/sched). So a thread whose time
// equals the caller's is the one that ran. Until the caller sleeps or another processor takes the thread over, the
// thread stays where the interrupt met it.
//
// A thread that waits for a lock, for a processor, or that sleeps has an earlier time. To take a processor at once the
// caller asks the scheduler for short turns (sched_setattr(2), Linux 6.12). Kernels before 6.6 give a processor at once
// to who has slept. From 6.6 to 6.11 the thread often runs on until it sleeps or its turn is over.
package preempt
