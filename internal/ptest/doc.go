// Package ptest starts the processes that tests look at, and finds what tests leave behind.
//
// Targets. [Start] runs a program, and [StartHelper] runs the test binary itself as a named helper.
// [BuildC] and [BuildGo] compile the small programs in testdata (and those of other packages) once
// per machine. A target prints the line "ready" when it is ready; no test sleeps. It is killed with
// its process group when its test ends, however the test ends. If the test binary itself is killed,
// the keeper, a second process of the test binary, kills the target. A target that is still alive
// when its test ends must be untraced, and must have its own text (see [TextIntact]).
//
// Truth. A target can publish counters in a shared page ([Truth]): what it has done, the longest gap
// that its spinning thread saw, the EINTRs and signals that it counted. Reading them does not disturb
// the target.
//
// Programs. Each program in testdata begins with a comment that says what it does and counts:
//
//	spin mix mixthreads gomix jit        burn CPU in known shares
//	idle busyidle vforkwait              threads that wait, also where nothing can interrupt them
//	threadstorm forkstorm vforkstorm     threads and children that live microseconds
//	spawnstorm clonevm execstorm         posix_spawn, system, popen, CLONE_VM, exec from any thread
//	sharedmemory                         a process that shares memory with its creator and is no thread
//	execother                            two programs that execute each other, with different text at one address
//	births                               processes by every system call that makes one
//	sigstorm groupstop selftrap altstack signals, counted to the last one with their siginfo
//	blockers                             38 kinds of blocking calls that notice an EINTR
//	calls                                functions that begin with every kind of instruction
//	remap                                code whose mapping changes
//	threadcreate dlchurn plugin          threads and objects from known places
//	briefcreator endingcreator           a thread is created, and the process ends
//	ctors ctorsxx                        what runs before and after main
//	leaderdead odd rseq untraced         processes that a tool does not expect
//	hungfs farsymbols                    a file system that stops answering, and a program for it
//	without                              execs a program where some system calls are denied
//
// Usage. [Measure] runs a command and says what memory and time it has used.
//
// Leaks. [Main] is the body of a package's TestMain. After the tests it fails on children, tracees,
// goroutines, descriptors and OS threads that were not there before.
//
// The package imports no other package of the module, so that all other packages can be tested with it.
package ptest
