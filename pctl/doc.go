// Package pctl controls processes for tracing tools: it grabs running ones and
// creates new ones, stops all their threads at a rendezvous, sets breakpoints,
// reads registers, memory and stacks, and reports what happens to them. It
// lets them go as if it had not been there.
//
//	s := pctl.NewSession(nil)
//	defer s.Close()
//	p, err := s.Grab(ctx, 4242, nil)
//	…
//	err = p.Pause(ctx, func(snap *pctl.Snapshot) error { … })
//
// Two promises come before everything else. The target is never harmed: it gets
// no stray signal, keeps no patched byte, and is never left stopped. No system
// call of it is interrupted without need. The host program is not harmed either:
// its own children are never reaped and its signals never eaten. When a Session
// is closed, no goroutine, thread or descriptor remains. The host must refrain
// from one thing. While it controls a child of its own, it must not wait for
// that child by other means (os/exec's Wait): the kernel would hand the child's
// stops to that wait. When Process.Wait has returned, or Done is closed, the
// exit status can be collected.
//
// Breakpoints are kernel uprobes where those can be had (Trap), and int3 instructions
// elsewhere. When this program is killed, the kernel removes the uprobes, but int3s
// stay in the text. A thread that runs into one then ends the process. If the program
// calls Guard at the top of its main, a second process removes the int3s when the
// first is killed. The guard is as fast as it can be, and promises no more. The target
// runs on at the same moment: a thread that reaches a breakpoint before the guard ends
// the process. So does a thread that has hit a breakpoint whose hit was not handled
// yet. A process that stands at a rendezvous is safe. A plain grab sets no breakpoint;
// breakpoints of clients, the points after Exec, and following the run-time linker set
// some.
//
// # Reference counting
//
// Independent parts of a program may grab the same process without knowing of
// each other. Within a Session each process has one handle with a reference count. Each
// Grab returns a Process of its own, which is one reference; Close drops it. A controlled
// process is let go when its last reference is dropped, in the mode of the grab that took
// control. Close may be called again; every other method of a closed Process that returns
// an error returns one that satisfies os.ErrClosed. A process is known by its pid and its
// start time together. So a number that the kernel has given to a newer process never
// stands for the old one.
//
// # Caching
//
// A grab that asks for ReadOnly neither attaches nor stops anything; it reads
// maps, memory and symbols. When its last reference is dropped, the handle
// stays for a while in a cache of idle handles. The cache evicts the least
// recently used first (SessionOptions.CacheLimit). So a tool that looks up
// addresses of many processes again and again pays for opening them once. A
// process that has executed another program meanwhile is read afresh. When a
// process that is held read-only is grabbed for control, the read-only handle
// becomes stale. Its holders keep using it undisturbed, and the next grab
// gets the controlled one. A read-only grab of a controlled process shares
// its handle.
//
// # Goroutines
//
// Goroutines reads the goroutines of a Go program from its memory: what each does or waits for, its stack, and
// where it was made. That needs no control and stops nothing.
//
// # Calls
//
// Calls counts and times calls of functions in the kernel, at uprobes where functions begin and end, and returns each that is asked for
// with its arguments, results and stack. That needs no control and stops nothing.
//
// # Control
//
// Every controlled process has a control goroutine on an OS thread of its own, which alone makes
// ptrace(2) calls for it. It attaches to every thread, follows clone, fork, vfork, exec and the
// run-time linker, and handles each stop at once. Forked children are let go with clean text, unless
// they are followed. A child that shares the target's memory is led past the breakpoints until its
// execve(2).
//
// At a rendezvous (Point) every thread stands still, and nothing moves until Continue or Close. The int3s are
// out of the text meanwhile; uprobes stay, hidden from reads through a Process. A Pause is a rendezvous that
// the client asks for; it ends when the client's function returns, also by a panic. A breakpoint stops only the
// thread that hit it, for as long as its Handler runs. Memory read through a Process never shows a trap. A
// signal is delivered at once, unless a Catch looks at it first. A process that was stopped from outside stays
// stopped, also when it is let go.
//
// One thread can be stopped by itself, and stepped instruction by instruction (StopThread, Step). The others
// run, or stand at their rendezvous.
//
// The release mode says what becomes of a process when it is let go, or when the program that holds it dies.
// ModeRun lets it run on. ModeKill kills it (the kernel does, if we cannot) unless it is stopped from outside.
// ModeStop leaves it stopped for another tool, which only a living program can do: after our own SIGKILL nothing
// holds the process, and it runs on.
//
// # Trees
//
// With Follow the processes that a process makes are controlled as well, from their first instruction. Each is a
// Process of its own, with its own events, breakpoints and end. They share one control goroutine, because the kernel
// attaches a child to the thread that traces its parent. So all of them wait for a Handler of one. The Handler may set
// breakpoints in all of them, and must not wait for any. A process that is held does not delay the others. Each is let go
// by itself; when the first one has ended or was let go, the others remain.
//
// # Concurrency
//
// A Session and a Process may be used from any goroutine. Methods that wait
// take a context, which bounds the waiting and nothing else: a process is not
// let go because a context ended. Functions given to Pause and Handlers run on
// the control goroutine. While they run, the process or one of its threads
// stands still, so they should copy what they need and return. They may use
// only the methods of the Snapshot or the Hit. Requests to the Process from
// there return an error that satisfies ErrOnControl instead of waiting for
// themselves. Registers and stacks that a Snapshot has copied may be
// symbolized by any goroutine at any time afterwards. Different processes are
// controlled independently of each other, unless one follows the other.
//
// # Notification
//
// Events gives every reader what happens to a process, in order, however
// slowly it reads. The control goroutine never waits for a reader. The end is
// always reported, once: Undead with the exit status, Lost with the reason why
// control ended, or Released. A reader that comes late still gets it, and
// io.EOF after it. Closing a Process removes what is queued for its readers.
//
// # Errors
//
// Errors are of type *Error. Those of a refused grab hold a *Refusal, which
// says what stands in the way and what can be done about it.
//
// The package works on Linux on x86-64; elsewhere everything returns an error
// that satisfies errors.ErrUnsupported.
package pctl
