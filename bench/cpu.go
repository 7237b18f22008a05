package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// idleCPU is the row of what a sampler itself uses for a process in which nothing happens.
func idleCPU(ctx context.Context, l *lab, t *target) ([]row, error) {
	psample, err := l.psample(ctx, 99)
	if err != nil {
		return nil, err
	}
	naive, err := l.c(ctx, "naive.c")
	if err != nil {
		return nil, err
	}
	pid := strconv.Itoa(t.pid)
	window := l.window(time.Second, 5*time.Second)
	r := row{Unit: percent, Note: "of one CPU"}
	r.Series = interleave(ctx, l.repeats, []contender{
		{"perf dwarf", peer, "perf", cpuShare(window, with(l.perfRecord(99), pid)...)},
		{"naive ptrace in C", peer, "", cpuShare(window, naive, "99", pid)},
		{"psample", ours, "", cpuShare(window, with(psample, pid)...)},
	})
	r.Goals = []goal{{AtMost: 8}}
	return []row{r}, nil
}

// cpuShare returns the measurement of the CPU time that a command uses while it runs, in percent of
// one CPU.
func cpuShare(window time.Duration, argv ...string) measure {
	return func(ctx context.Context) (float64, error) {
		b, err := launch(ctx, argv...)
		if err != nil {
			return 0, err
		}
		return during(b.interrupt, func() (float64, error) {
			if err := sleep(ctx, settle); err != nil {
				return 0, err
			}
			before := read(b.cmd.Process.Pid)
			err := sleep(ctx, window)
			return before.share(read(b.cmd.Process.Pid)), err
		})
	}
}

// cpuTime is what the threads that a process has now have used, to the nanosecond; the process's own
// account counts ticks.
func cpuTime(pid int) (sum time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is well-formed
	for _, file := range files {
		var ns int64
		if b, err := os.ReadFile(file); err == nil { // else the thread has ended
			fmt.Sscan(string(b), &ns)
		}
		sum += time.Duration(ns)
	}
	return sum
}

// processTicks is what the kernel accounts to user and to kernel mode of a process, in ticks
// (proc_pid_stat(5), utime and stime).
func processTicks(pid int) (user, system float64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	const utime = 11 // of the fields behind the name
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < utime+2 {
		return 0, 0, fmt.Errorf("/proc/%d/stat: %q", pid, b)
	}
	_, err = fmt.Sscan(f[utime]+" "+f[utime+1], &user, &system)
	return user, system, err
}
