// Bench compares pgrab, psample and package pctl with the tools that people would use instead, on
// the same targets, in the same run:
//
//	go run ./bench                 everything; a quarter of an hour
//	go run ./bench -quick          short windows, three repeats; about three minutes
//	go run ./bench -list           the names of the rows
//	go run ./bench -run 'dump|pause' -repeats 9
//	go run ./bench -markdown table.md -json table.json
//
// It builds the tools and its targets into a temporary directory, uses the peers that are installed
// (gdb, eu-stack, strace, perf, bpftrace, ltrace) and says which ones are not. Every repeat runs all
// contenders of a row one after the other, and a row that needs none shows the machine without any
// tool, so what the neighbours of a shared machine do falls on all of them; the ratios of the medians are
// what counts. Targets publish what happens to them on a shared page: work done, the longest gap of a
// spinning thread, interrupted system calls. A number that falls short is printed as such and is no
// failure of the program. It needs Linux on x86-64 and the right to trace its own children; perf and
// bpftrace need more.
package main
