package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"ptools/pctl"
)

// workloadEnv makes this program the workload that --demo profiles.
const workloadEnv = "PSAMPLE_WORKLOAD"

// How long and how often the workload is profiled if the flags do not say:
// enough to show its shares.
const (
	demoLength = 3 * time.Second
	demoRate   = 499
)

// demoCommand returns this program again, as the workload. It dies with us. Its
// runtime sends no signals to preempt the loops.
func demoCommand() (*pctl.Command, pctl.Mode, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	return &pctl.Command{
		Path:  exe,
		Args:  []string{"psample-workload"},
		Env:   append(os.Environ(), workloadEnv+"=1", "GODEBUG=asyncpreemptoff=1"),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	}, pctl.ModeKill, nil
}

// workload spends half of its time in one function, three tenths in a second
// and two tenths in a third, until it is killed, or its parent has ended.
func workload() {
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	parent := os.Getppid()
	for x := uint64(1); os.Getppid() == parent; {
		x = fifty(x)
		x = thirty(x)
		x = twenty(x)
	}
}

// A turn of the loop is a multiplication that waits for the one before, so it
// takes the same time in each of the three functions.
const turns = 10_000

//go:noinline
func fifty(x uint64) uint64 {
	for range 50 * turns {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func thirty(x uint64) uint64 {
	for range 30 * turns {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func twenty(x uint64) uint64 {
	for range 20 * turns {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}
