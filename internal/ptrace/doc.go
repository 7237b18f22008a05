// Package ptrace is the ptrace(2) and wait4(2) system calls with types on them,
// and the decoding of what they return. It holds no policy: which thread to stop,
// when, and what to do about it is decided in pctl/control.
//
// # Threads
//
// The kernel accepts a ptrace request for a tracee from one thread only, the one
// that seized it. A caller locks its goroutine to an OS thread before Seize and
// makes every later call from there. Wait is told __WNOTHREAD, so it sees what
// this thread traces and nothing else of the program.
//
// # Errors
//
// Every function returns a plain syscall.Errno, or errors.ErrUnsupported on a
// platform that is not linux/amd64. ESRCH means that the thread is not in a ptrace
// stop at this moment: it is dying, or an exec(2) in its process is removing it. It
// is a change of state that a wait status will explain, not a failure.
package ptrace
