// Package ptrace has the ptrace(2) and wait4(2) system calls with Go types, and
// decodes what they return. It has no policy: pctl/control decides which thread to
// stop, when, and what to do about it.
//
// # Threads
//
// The kernel accepts a ptrace request for a tracee from one thread only, the one
// that seized it. A caller locks its goroutine to an OS thread before Seize and
// makes every later call from there. Wait uses __WNOTHREAD: it sees the tracees and
// children of this thread, and no other ones of the program.
//
// # Errors
//
// Every function returns a plain syscall.Errno, or errors.ErrUnsupported on a
// system other than Linux. ESRCH means that the thread is not in a ptrace
// stop at this moment: it is dying, or an exec(2) in its process is removing it.
// ESRCH is not a failure: a wait status will explain the change.
package ptrace
