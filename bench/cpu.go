package main

import (
	"context"
	"ptools/internal/procfs"
	"strconv"
	"time"
)

// idleCPU is the row of the processor time of a sampler itself, for a process in which nothing
// happens.
func idleCPU(ctx context.Context, l *lab, t *target) {
	psample := l.psample(ctx, 99)
	naive := l.c(ctx, "naive.c")
	pid := strconv.Itoa(t.pid)
	window := l.window(time.Second, 5*time.Second)
	r := row{Unit: percent, Note: "of one CPU"}
	r.Series = interleave(ctx, l.repeats, []contender{
		{"perf dwarf", peer, "perf", cpuShare(window, with(l.perfRecord(99), pid)...)},
		{"naive ptrace in C", peer, "", cpuShare(window, naive, "99", pid)},
		{"psample", ours, "", cpuShare(window, with(psample, pid)...)},
	})
	r.Goals = []goal{{AtMost: 8}}
	l.add(r)
}

// cpuShare returns the measurement of the CPU time that a command uses while it runs, in percent of
// one CPU.
func cpuShare(window time.Duration, argv ...string) measure {
	return func(ctx context.Context) float64 {
		b := must(launch(ctx, argv...))
		return during(b.interrupt, func() float64 {
			check(sleep(ctx, settle))
			before := read(b.cmd.Process.Pid)
			check(sleep(ctx, window))
			return before.share(read(b.cmd.Process.Pid))
		})
	}
}

// cpuTime returns the processor time of a process's present threads, to the nanosecond. The account
// of the process itself counts ticks.
func cpuTime(pid int) (sum time.Duration) {
	tids, _ := procfs.Tasks(pid, nil) // none: it has ended
	for _, tid := range tids {
		st, _ := procfs.ReadTaskSchedStat(pid, tid) // otherwise the thread has ended
		sum += time.Duration(st.Run)
	}
	return sum
}
