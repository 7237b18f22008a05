package main

import (
	"context"
	"ptools/internal/procfs"
	"strconv"
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
	tids, _ := procfs.Tasks(pid, nil) // none: it has ended
	for _, tid := range tids {
		st, _ := procfs.ReadTaskSchedStat(pid, tid) // else the thread has ended
		sum += time.Duration(st.Run)
	}
	return sum
}
