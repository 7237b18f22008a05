// Package guard lifts our traps out of other processes when we die.
//
// A process that is killed cannot take its int3 instructions out of the text of those it controls,
// and the next thread that runs into one dies of SIGTRAP. The guard is a second process that does
// it instead. It is this program, executed again: [Main] at the top of main makes it so.
//
// What is about to be written where, and what was there before, is noted in memory that both
// processes share (ledger.go). The memory of each target goes to the guard as an open
// /proc/PID/mem, over a socket. That descriptor stays bound to the address space that it was opened
// in (fs/proc/base.c, mem_open): a target that has executed another program, or a number that
// belongs to another process, is not written to. A byte that is not the one that was noted stays.
//
// That we die is told by a thread of ours, the herald (herald_linux.go), which is woken ahead of
// others where we may arrange that, and by the end of the socket. The threads of the target and
// the guard then run at the same time. A thread that reaches a trap before the guard does dies, and
// so does one that has executed a trap which nobody has taken notice of yet. A process that was
// forked off the target and not yet cleaned keeps its traps.
//
// The guard is started when the first trap is to be planted, which waits until the guard is ready,
// and ends with the last [Watch]. It has a session of its own, is no child of this process, keeps
// none of its descriptors, and ignores the signals that ask a program to end. Should it be killed,
// everything is as it is without a guard.
package guard
