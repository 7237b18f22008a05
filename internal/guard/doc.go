// Package guard lifts our traps out of other processes when we die.
//
// A process that is killed cannot take its int3 instructions out of the text of those it controls,
// and the next thread that runs into one dies of SIGTRAP. The guard is a second process that does
// it instead: a fork of this one that never comes back to Go and makes system calls only
// (process_linux.go).
//
// What is about to be written where, and what was there before, is noted in memory that both
// processes share (ledger.go). They share their descriptors as well, and so the open /proc/PID/mem of
// each target. That stays bound to the address space that it was opened in (fs/proc/base.c, mem_open):
// a target that has executed another program, or a number that belongs to another process, is not
// written to. A byte that is not the one that was noted stays.
//
// That we die is told by threads of ours, the death watch (deathwatch_linux.go), which are woken ahead of
// others where we may arrange that. The threads of the target and the guard then run at the same
// time. A thread that reaches a trap before the guard does dies, and so does one that has executed a
// trap which has not been reported yet.
//
// A process that was forked off a target has a copy of its traps until control has lifted them. The guard
// finds such processes in /proc, as children of the targets with the same layout of memory
// (descent_linux.go). They stand in front of their first instruction as long as the thread lives that
// traces them.
//
// The guard is forked when the first trap is to be planted, which waits until the guard is ready, and ends
// with the last [Watch]. It has a session of its own, no exit
// signal, so that no wait for any child sees it, and blocks all signals. Should it be killed,
// everything is as it is without a guard.
package guard
