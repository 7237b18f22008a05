// Package guard lifts our traps out of other processes when we die.
//
// A killed process cannot remove its int3 instructions from the text of the processes it controls. The
// next thread that hits one dies of SIGTRAP. The guard is a second process that removes them instead. It
// is a fork of this one that never returns to Go, and only makes system calls (process_linux.go).
//
// The ledger (ledger.go) records which byte is about to be written where, and what was there before. It
// is in memory that both processes share. They share their descriptors as well, and so the open
// /proc/PID/mem of each target. That descriptor stays bound to the address space that it was opened in
// (fs/proc/base.c, mem_open). So the guard does not write to a target that has executed another program,
// nor to another process that has the target's number. It replaces a byte only if that is the recorded one.
//
// Threads of ours, the death watch (deathwatch_linux.go), notify the guard of our death. They are woken
// before others where we have the right to arrange that. The threads of the target and the guard then run
// at the same time. A thread that hits a trap before the guard has lifted it kills the target. So does a
// thread that has executed a trap whose wait status has not been consumed.
//
// A process that was forked off a target has a copy of the target's traps until control has lifted them.
// The guard finds such processes in /proc, as children of the targets with the same layout of memory
// (descent_linux.go). They stay in front of their first instruction as long as the thread that traces them
// lives.
//
// The guard is forked when the first trap is to be planted. The planting waits until the guard is ready.
// The guard ends with the last [Watch]. It has a session of its own, and blocks all signals. It has no exit
// signal, so that no wait for any child sees it. If it is killed, targets are as safe as without a guard.
package guard
