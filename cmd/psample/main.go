// Psample is a sampling profiler for native processes: it shows in which
// functions the threads of a program spend their time, waiting included.
//
//	psample [flags] -p PID[,PID…]
//	psample [flags] -- COMMAND [ARG…]
//	psample --demo
//	psample --check [-p PID] [--json]
//
// Where timers of the processors may be used, it stops nothing. Elsewhere it stops, for each sample, the thread that has
// a processor at a random moment, for microseconds.
// Waiting threads are read from outside. One pass gives three values: samples, processor time and wall time. psample
// --help lists the flags.
//
// With a COMMAND the exit status is the command's, 127 if it is not found and
// 126 if it cannot be executed. Otherwise it is 0 after success, 1 after a
// failure and 2 after a usage error. One line on standard error explains a
// failure.
package main

import (
	"context"
	"os"

	"ptools/internal/job"
)

func main() {
	if os.Getenv(workloadEnv) != "" {
		workload()
	}
	if err := job.TakeDescriptors(); err != nil {
		os.Exit(report(os.Stderr, err))
	}
	job.Main(func() int { return run(context.Background(), os.Args[1:], os.Stdout, os.Stderr) })
}
