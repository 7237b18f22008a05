// Pcalls counts and times the calls of functions of a running program, or of a command.
//
//	pcalls [flags] -p PID|NAME PATTERN…
//	pcalls [flags] PATTERN… -- COMMAND [ARG…]
//
// The kernel counts, at uprobes where functions begin and end, and no thread is stopped. Where it refuses uprobes threads are stopped at breakpoints there.
// No return address is replaced.
// pcalls --help lists the flags.
//
// With a COMMAND the exit status is the command's, 127 if it is not found and 126 if it cannot be executed. Otherwise it
// is 0 after success, 1 after a failure and 2 after a usage error. One line on standard error explains a failure.
package main

import (
	"context"
	"os"

	"ptools/internal/job"
	"ptools/pctl"
)

func main() {
	if err := job.TakeDescriptors(); err != nil {
		os.Exit(report(os.Stderr, err))
	}
	pctl.Guard()
	job.Main(func() int { return run(context.Background(), os.Args[1:], os.Stdout, os.Stderr) })
}
