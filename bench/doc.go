// Bench compares pgrab, psample and package pctl with the tools that could be used instead, on
// the same targets, in the same run:
//
//	go run ./bench                 everything; an hour and a half
//	go run ./bench -quick          short windows, three repeats; about half an hour
//	go run ./bench -list           the names of the rows
//	go run ./bench -run 'dump|pause' -repeats 9
//	go run ./bench -markdown table.md -json table.json
//	go run ./bench -run 'share error|sum of|beside perf' -psample /usr/bin/psample
//
// It builds the tools and its targets into a temporary directory. It uses the peers that are installed
// (gdb, eu-stack, strace, perf, bpftrace, ltrace, uftrace) and says which ones are not. The same holds for the
// programs that some rows put to work (redis, postgres, nginx with wrk, node, python3, java). They listen
// on the loopback interface alone, and end with the row.
//
// Every repeat runs all contenders of a row one after the other, so the load of a shared machine
// affects all of them. The contender "no tool" is the target without any tool. The ratios of
// the medians are what counts. Targets publish what happens to them on a shared page: work done, the
// longest gap of a spinning thread, interrupted system calls. A goal that is not reached is printed as
// such, and is no failure of the program. Bench needs Linux on x86-64 and the right to trace its own
// children; perf and bpftrace need more.
package main
