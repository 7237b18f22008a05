// Psampled serves profiles of running processes that it is not linked into, as Go programs serve their own. So go
// tool pprof and the engines for continuous profiles can pull them.
//
//	psampled [flags]
//
// psampled --help lists the flags. doc/psampled.md says what it serves and how engines are configured. The exit status is
// 0 after SIGINT or SIGTERM, 1 after a failure and 2 after a usage error. One line on standard error explains a failure.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	"ptools/internal/check"
	"ptools/internal/job"
	"ptools/internal/usage"
)

func main() {
	if err := job.TakeDescriptors(); err != nil {
		io.WriteString(os.Stderr, complaint(err))
		os.Exit(1)
	}
	moreProcessors()
	job.Main(func() int { return run(context.Background(), os.Args[1:], os.Stdout, os.Stderr) })
}

// moreProcessors lets goroutines run while others sleep in system calls on the memory and the files of strangers: such a call keeps one of the
// runtime's processors for up to 10 ms, and there may be tens of them a second. In the siege of internal/hostile on two processors, a goroutine that
// could run waited longer than 64 ms a thousand times in 35 s, sometimes with a lock; with twice as many processors of the runtime 40 times. A cgroup's quota is
// that of the start then.
func moreProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
}

// run is the command. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	var about usage.Text
	var wrong usage.Error
	var asked check.Request
	switch {
	case errors.As(err, &about):
		job.SayLost("psampled", stdout, stderr)
		if _, err := io.WriteString(stdout, string(about)); err != nil {
			io.WriteString(stderr, complaint(err))
			return 1
		}
		return 0
	case errors.As(err, &wrong):
		io.WriteString(stderr, complaint(err)+"try 'psampled --help'\n")
		return 2
	case errors.As(err, &asked):
		job.SayLost("psampled", stdout, stderr)
		err = asked.Write(ctx, stdout)
	case err == nil:
		err = s.serve(ctx, stderr)
	}
	if err != nil {
		io.WriteString(stderr, complaint(err))
		return 1
	}
	return 0
}

// complaint returns the line that a user reads about an error.
func complaint(err error) string { return oneLine(err.Error()) }
