// Package pctl controls processes for tracing tools: it grabs running ones and
// creates new ones, stops all their threads at a rendezvous, plants
// breakpoints, reads registers, memory and stacks, tells what happens to them,
// and lets them go as if it had not been there.
//
//	s := pctl.NewSession(nil)
//	defer s.Close()
//	p, err := s.Grab(ctx, 4242, nil)
//	…
//	err = p.Pause(ctx, func(snap *pctl.Snapshot) error { … })
//
// Two promises come before everything else. The target is never harmed: no
// stray signal, no byte left patched, no system call interrupted that could
// have been spared, never left stopped. The host program is not harmed either:
// its own children are never reaped, its signals never eaten, and when a
// Session is closed no goroutine, thread or descriptor remains. One thing the
// host has to refrain from: while it controls a child of its own it must not sit
// in a wait for it (os/exec's Wait), to which the kernel would hand the stops of
// that child; when Process.Wait has returned, or Done is closed, the exit status
// is there to be collected.
//
// Breakpoints are kernel uprobes where those can be had (Trap), which the kernel lifts
// when this program is killed, and int3 instructions elsewhere. An int3 stays in the
// text then, and the thread that runs into it ends the process. A program that calls
// Guard at the top of its main has a second process that takes int3s out then. It is
// as fast as it can be, and that is all it promises: the target runs on at the same
// moment, and a thread that gets to a breakpoint first ends it, as does one that has
// hit a breakpoint and was not answered yet. A process that stands at a rendezvous is
// safe. Nothing is planted by a plain grab; breakpoints, the points after Exec, and
// following the run-time linker plant some.
//
// # Reference counting
//
// Independent parts of a program may grab the same process without knowing of
// each other. Within a Session there is one handle per process, counted; each
// Grab returns a Process of its own, which is one reference, and Close drops
// it. Only when the last reference to a controlled process is dropped is the
// process let go, in the mode of the grab that took control. Close may be
// called again; every other method of a closed Process that returns an error
// returns one that satisfies os.ErrClosed. A process is known by its pid and its start time
// together, so a number that the kernel has given to a newer process never
// stands for the old one.
//
// # Caching
//
// A grab that asks for ReadOnly neither attaches nor stops anything; it reads
// maps, memory and symbols. When its last reference is dropped the handle
// stays for a while in a cache of idle handles, least recently used out first
// (SessionOptions.CacheLimit), so that a tool that looks up addresses of many
// processes again and again pays for opening them once. A process that has
// executed another program meanwhile is read afresh. Grabbing for control a
// process that is held read-only makes that handle stale: its holders keep
// using it undisturbed, and the next grab gets the controlled one. A
// read-only grab of a controlled process shares its handle.
//
// # Control
//
// Every controlled process has a control goroutine on an OS thread of its own,
// which alone makes ptrace(2) calls for it: attaches to every thread, follows
// clone, fork, vfork, exec and the run-time linker, and answers each stop at
// once. Forked children are let go with clean text, unless they are followed; a child that shares the
// target's memory is led past the breakpoints until it executes.
//
// At a rendezvous (Point) every thread stands still, the int3s have left the text
// (uprobes stay, hidden from reads through a Process), and nothing moves until
// Continue or Close. A Pause is a rendezvous of one's own making that ends when its
// function returns, also by a panic. A breakpoint stops only the thread that hit it, for as long as its Handler
// runs; memory read through a Process never shows a trap. A signal is delivered
// at once, unless a Catch looks at it first. A process that something else has
// stopped stays stopped, also when it is let go.
//
// One thread can be made to stand by itself, and to go on instruction by instruction (StopThread, Step): the
// others run, or stand at their rendezvous.
//
// What is left of a process when it is let go, or when the program that holds
// it dies, is its release mode: ModeRun lets it run on, ModeKill kills it (the
// kernel does, if we cannot) unless it is stopped from outside, ModeStop leaves it stopped for another tool. The
// last needs us alive: after our own SIGKILL nothing holds the process, and it
// runs on.
//
// # Trees
//
// With Follow the processes that a process makes are controlled as well, from their first instruction. Each is a
// Process of its own, with its own events, breakpoints and end. They have one control goroutine: the
// kernel attaches a child to the thread that traces its parent. So a Handler of one is waited for by all, may set
// breakpoints in all, and must not wait for any. A process that is held holds up no other. Each is let go by itself; when the
// first one has ended or was let go, the others remain.
//
// # Concurrency
//
// A Session and a Process may be used from any goroutine. Methods that wait
// take a context, which bounds the waiting and nothing else: a process is not
// let go because a context ended. Functions given to Pause and Handlers run on
// the control goroutine. While they run the process, or one of its threads,
// stands still, so they should copy what they need and return; from there only
// the methods of the Snapshot or the Hit may be used, and requests to the
// Process return an error that satisfies ErrOnControl instead of waiting for
// themselves. Registers and stacks that a Snapshot has copied may be
// symbolized by any goroutine at any time afterwards. Different processes are
// controlled independently of each other, unless one follows the other.
//
// # Notification
//
// Events tells what happens to a process, in order, to every reader,
// however slowly it reads; the control goroutine never waits for a reader. The
// end is always told, once: Undead with the exit status, Lost with the reason
// why control ended, or Released. A reader that comes late still gets it, and
// after it io.EOF. Closing a Process removes what is queued for its readers.
//
// # Errors
//
// Errors are of type *Error. Those of a refused grab hold a *Refusal, which
// says what stands in the way and what can be done about it.
//
// The package works on Linux on x86-64; elsewhere everything returns an error
// that satisfies errors.ErrUnsupported.
package pctl
