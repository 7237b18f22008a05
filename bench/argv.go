package main

import (
	"context"
	"strconv"
)

// The command lines that several rows use. All of them end with the flag before a pid.

// gdb returns the command line of a gdb that reads no start-up file, executes commands and ends.
func gdb(commands ...string) []string {
	argv := []string{"gdb", "-nx", "-q", "-batch", "-ex", "set pagination off"}
	for _, c := range commands {
		argv = append(argv, "-ex", c)
	}
	return append(argv, "-p")
}

// perfRecord returns the command line of a perf that samples until it is interrupted.
func (l *lab) perfRecord(rate int) []string {
	return []string{"perf", "record", "-q", "-F", strconv.Itoa(rate), "--call-graph", "dwarf", "-o", l.path("perf.data"), "-p"}
}

// psample returns the command line of psample, and builds it if needed. The output is discarded.
func (l *lab) psample(ctx context.Context, rate int) []string {
	return []string{l.tool(ctx, "psample"), "-F", strconv.Itoa(rate), "-O", "folded", "-o", "/dev/null", "-p"}
}

// with returns a command line with more arguments. It does not change the original.
func with(argv []string, more ...string) []string { return append(argv[:len(argv):len(argv)], more...) }
