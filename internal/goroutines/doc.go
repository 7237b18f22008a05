// Package goroutines reads the goroutines of a Go program from its memory, while it runs. It stops nothing and uses no ptrace.
//
// # Where the runtime keeps them
//
// The runtime's variable allgs has the addresses of all g, one for each goroutine that there is or was. No g is ever freed, and
// allgs only grows. The code of the function runtime.allgadd, which stripped programs name too, refers to it. The offsets in g
// come from a table by the version of Go or, for a version that the table lacks, from debug information. What was found
// is believed only if the first goroutines that are read by it are possible ones.
//
// # Changes while it is read
//
// A g is read before and after its stack. If its bytes are the same, the goroutine has stood still, and the stack is
// its own: in g is a count of the times that it has run, and in the m of a system call one of those. Otherwise it is read again, a few times. One that never
// stands still is given as Changing, without a stack. A goroutine that runs has its stack in registers, which only a stop shows.
//
// # Hostile programs
//
// All that is read is the target's. Counts and sizes have bounds, pages that do not come are given up, and a g that cannot
// be one is counted as unread.
package goroutines
