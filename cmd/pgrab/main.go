// Pgrab grabs running processes, or starts a command. It stops them at
// rendezvous points, shows what they do, continues them, and lets them go
// unharmed.
//
//	pgrab [flags] -p PID[,PID...]
//	pgrab [flags] -- COMMAND [ARG...]
//	pgrab --check [-p PID] [--json]
//
// pgrab --help lists the flags.
//
// With --json a thread's stack at a rendezvous is an object of its own: event
// "stopped" with tid, name, state and stack. The final counts are objects with event
// "breakpoint", where and hits. With --follow the objects without a pid are the sums
// over all processes.
//
// The exit status is 0 after success. It is 1 if something went wrong with one of the processes or with the output,
// or if a breakpoint was never set or its text went away. It is 2 for a usage error. With a COMMAND it is the
// command's own status, or 128 plus the signal that killed it, 127 if it was not found, or 126 if it cannot be
// executed.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"ptools/internal/job"
	"ptools/pctl"
)

func main() {
	if err := job.TakeDescriptors(); err != nil {
		os.Exit(report(os.Stderr, err))
	}
	pctl.Guard()
	putOffCollection()
	job.Main(func() int {
		return report(os.Stderr, run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	})
}

// putOffCollection lets the heap grow to 16 MB before the first garbage collection, unless the environment says when. A dump of
// a thousand threads ends before that, and takes 3 of 50 ms less.
func putOffCollection() {
	if os.Getenv("GOGC") != "" {
		return
	}
	const usual = 100
	debug.SetGCPercent(4 * usual) // of 4 MB
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
