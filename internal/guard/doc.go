// Package guard lifts our traps out of other processes when we die.
//
// A process that is killed cannot take its int3 instructions out of the text of those it controls,
// and the next thread that runs into one dies of SIGTRAP. The guard is a second process that does
// it instead. It is this program, executed again: [Main] at the top of main makes it so. It is told
// beforehand, over a socket, what is about to be written where and what was there before, and is
// given the memory of each target as an open /proc/PID/mem. What was sent stays in the socket when
// we die, whole messages in their order; then comes the end of file, and wherever a byte of ours
// stands the guard writes the original back. Then it exits.
//
// The descriptor stays bound to the address space that it was opened in (fs/proc/base.c, mem_open):
// a target that has executed another program, or a number that belongs to another process, is not
// written to. Bytes that are not the ones that were announced stay as they are.
//
// The kernel closes the files of a process that is killed before or while it lets its tracees go,
// so the guard and the target's threads run at the same time. A thread that reaches a trap before
// the guard does dies, and so does one that has executed a trap and whose SIGTRAP nobody has taken
// away. A process that was forked off the target and not yet cleaned keeps its traps.
//
// The guard is started when the first trap is about to be planted, without anybody waiting for it,
// and ends with the last [Watch]. It has a session of its own, is no child of this process, keeps
// none of its descriptors, and ignores the signals of terminals. Should it be killed, everything is
// as it is without a guard.
package guard
