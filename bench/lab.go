package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// experiment makes one row of the table, or a family of rows that have names within it.
type experiment struct {
	name string
	run  trial
}

// trial adds rows to the lab's. starter starts a target, which must be stopped.
type (
	trial   = func(context.Context, *lab)
	starter = func(context.Context, *lab) *target
)

// on is a trial with one target.
func on(start starter, run func(context.Context, *lab, *target)) trial {
	return func(ctx context.Context, l *lab) {
		t := start(ctx, l)
		defer t.stop()
		run(ctx, l, t)
	}
}

// experiments are all experiments, in the order of the table.
var experiments = []experiment{
	{"yardstick, pread of a schedstat", yardstick},
	{"breakpoint hits, 1 thread", hits(hotPush, 1)},
	{"breakpoint hits, 8 threads", hits(hotPush, 8)},
	{"breakpoint hits, displaced entry, 1 thread", hits(hotDisplaced, 1)},
	{"hits only counted, 1 thread", counts(hotPush, 0.9)},
	{"hits only counted, behind endbr64, 1 thread", counts(hotEndbr, 10)},
	{"hits only counted, behind mov, 1 thread", counts(hotMov, 10)},
	{"calls timed, 1 thread", timedCalls(hotPush, goal{})},
	{"calls timed, behind mov, 1 thread", timedCalls(hotMov, goal{Peers: []string{"bpftrace"}, AtLeast: 0.95})},
	{"calls of Go timed, 1 thread", timedGoCalls},
	{"symbolized dump, 100 threads", dumps(100, goal{Peers: []string{"eu-stack"}, AtMost: 0.3})},
	{"symbolized dump, 1000 threads", dumps(1000, goal{Peers: []string{"eu-stack"}, AtMost: 0.15})},
	{"longest pause of the dump, 100 threads", pauses(100, 2*time.Millisecond)},
	{"longest pause of the dump, 1000 threads", pauses(1000, 15*time.Millisecond)},
	{"attach and detach, 1 thread", attaches(1)},
	{"attach and detach, 1000 threads", attaches(1000)},
	{"slowdown, 1 busy, 99 Hz", slowdowns(1, 0, 99, 1.01)},
	{"slowdown, 1 busy, 999 Hz", slowdowns(1, 0, 999, 1.03)},
	{"slowdown, 2 busy + 100 idle, 99 Hz", slowdowns(2, 100, 99, 1.03)},
	{"slowdown, 2 busy + 100 idle, 999 Hz", slowdowns(2, 100, 999, 1.10)},
	{"slowdown by stops, 1 busy, 99 Hz", stopSlowdowns(1, 0, 99)},
	{"slowdown by stops, 1 busy, 999 Hz", stopSlowdowns(1, 0, 999)},
	{"slowdown by stops, 2 busy + 100 idle, 99 Hz", stopSlowdowns(2, 100, 99)},
	{"slowdown by stops, 2 busy + 100 idle, 999 Hz", stopSlowdowns(2, 100, 999)},
	{"2 busy + 10000 idle, 99 Hz", on(busyIdle(2, 10000), crowd)},
	{"first look at 10000 threads", firstLook},
	{"two threads pass a byte", on(cTarget("passes.c"), passes)},
	{"CPU of the sampler, 1000 idle threads, 99 Hz", on(idle(1000), idleCPU)},
	{"spurious EINTRs, 38 blocking calls, 999 Hz", on(cTarget("blockers.c"), interruptions)},
	{"share error, 50/30/20, 999 Hz", on(cTarget("mix.c"), shares)},
	{"share error, spin(50000) and usleep(50), 99 Hz", sleeping(sleepSpin)},
	{"share error, spin for 50 us and usleep(50), 99 Hz", sleeping(sleepSpin50)},
	{"share error, runs of 50 to 130 us, C, 99 Hz", sleeping(sleepShort)},
	{"share error, runs of 1 to 2.5 ms, C, 99 Hz", sleeping(sleepLong)},
	{"share error, runs of 50 to 130 us, Go, 99 Hz", sleeping(sleepShort.inGo())},
	{"share error, runs of 1 to 2.5 ms, Go, 99 Hz", sleeping(sleepLong.inGo())},
	{"share error, spin for 50 us and usleep(50), 99 Hz, processors busy", sleeping(sleepSpin50.besideOthers())},
	{"share error, runs of 50 to 130 us, C, 99 Hz, processors busy", sleeping(sleepShort.besideOthers())},
	{"share error, runs of 1 to 2.5 ms, C, 99 Hz, processors busy", sleeping(sleepLong.besideOthers())},
	{"waiting for locks held for 60/30/10 %, 99 Hz", on(cTarget("contend.c"), blames)},
	{"slowdown, 8 threads that contend, 99 Hz", on(cTarget("contend.c"), blameSlowdown)},
	{"CPU of the sampler, 1000 threads that wait for a lock, 99 Hz", on(cTarget("contend.c", "-c", "1000"), blameCPU)},
	{"sum of processor time, 1 thread, 99 Hz", sums("sleepers.c", "-k", "spin")},
	{"sum of processor time, 100 threads, 99 Hz", sums("sleepers.c", "-k", "short", "-t", "100")},
	{"sum of processor time, 2 busy + 10000 idle, 99 Hz", sums("busyidle.c", "-b", "2", "-t", "10000")},
	{"sum of processor time, threads of microseconds, 99 Hz", sums("threadstorm.c", "-t", "2")},
	{"sum of processor time, threads of milliseconds, 99 Hz", sums("briefs.c", "-t", "4")},
	{"share error under strace -f, 99 Hz", sleeping(sleepLong.under("strace", "-f", "-o", "/dev/null", "-p"))},
	{"share error under gdb, 99 Hz", sleeping(sleepLong.under(gdb("continue")...))},
	{"stops where timers are permitted, 99 Hz", stopCounts},
	{"whole chains, C without frame pointers", chains(chainC, "-fomit-frame-pointer")},
	{"whole chains, C with frame pointers", chains(chainC, "-fno-omit-frame-pointer")},
	{"whole chains, Go", chains(chainGo)},
	{"Go HTTP server beside perf", beside(goServer)},
	{"redis beside perf", beside(redis)},
	{"postgres beside perf", beside(postgres)},
	{"nginx beside perf", beside(nginx)},
	{"node beside perf", beside(node)},
	{"python beside perf", beside(python)},
	{"cached read-only grab and release", on(idle(10), cachedGrab)},
	{"start-up", startUp},
	{"symbolized dump, 10000 threads", dumps(10000)},
	{"goroutines of a Go program, 1000", goroutineDumps(1000, goal{Peers: []string{"dlv"}, AtMost: 0.03})},
	{"goroutines of a Go program, 10000", goroutineDumps(10000, goal{Peers: []string{"dlv"}, AtMost: 0.03})},
	{"goroutines of a Go program, 100000", goroutineDumps(100000, goal{AtMost: 0.6})},
	{"slowdown, 10000 goroutines read each second", goroutineSlowdown(10000, 1.01)},
	{"50 processes of 10 idle threads, 99 Hz", manyProcesses},
	{"build of 60 C files, make -j2", trees(cProject(60), true)},
	{"shell that starts 500 programs", trees(starts(500), false)},
	{"size", sizes},
}

// choose returns the experiments whose name matches.
func choose(all []experiment, expr *regexp.Regexp) (chosen []experiment) {
	for _, x := range all {
		if expr.MatchString(x.name) {
			chosen = append(chosen, x)
		}
	}
	return chosen
}

// lab is the place of the experiments: a temporary directory with the tools and targets.
type lab struct {
	root    string // of the module
	dir     string
	quick   bool
	repeats int
	log     io.Writer
	built   map[string]string // paths of what was built, by name
	rows    []row             // of the present experiment
	pages   int
	litter  []string // directories outside of dir
}

func newLab(ctx context.Context, c *config, log io.Writer) (*lab, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Module.Dir}}", "ptools").Output()
	if err != nil {
		return nil, fmt.Errorf("bench has to be run inside the module: go list: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{
		root: strings.TrimSpace(string(out)), dir: dir, quick: c.quick, repeats: c.repeats,
		log: log, built: map[string]string{},
	}
	if c.psample != "" {
		l.built["psample"] = c.psample
	}
	return l, nil
}

func (l *lab) close() error {
	err := os.RemoveAll(l.dir)
	for _, dir := range l.litter {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// add adds rows to those of the experiment.
func (l *lab) add(rows ...row) { l.rows = append(l.rows, rows...) }

// path returns the name of a file in the lab's directory.
func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// window returns how long something is observed.
func (l *lab) window(quick, usual time.Duration) time.Duration {
	if l.quick {
		return quick
	}
	return usual
}

// perform does the experiments one after the other, until ctx is done. An experiment that cannot
// be done becomes a row that says why.
func (l *lab) perform(ctx context.Context, chosen []experiment) (rows []row) {
	for i, x := range chosen {
		start := time.Now()
		fmt.Fprintf(l.log, "%2d/%d %s ", i+1, len(chosen), x.name)
		l.rows = nil
		err := attempt(func() { x.run(ctx, l) })
		if ctx.Err() != nil {
			fmt.Fprintln(l.log, "interrupted")
			return rows
		}
		if err != nil {
			l.add(row{Note: err.Error()})
		}
		for _, r := range l.rows {
			r.Name = strings.TrimSuffix(x.name+", "+r.Name, ", ")
			rows = append(rows, r)
		}
		fmt.Fprintf(l.log, "(%.1f s)\n", time.Since(start).Seconds())
	}
	return rows
}

// sleep waits for a window to pass.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patience bounds the wait for things that must happen sooner or later.
const patience = 30 * time.Second

// await waits until cond returns true. It calls cond every few milliseconds.
func await(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !cond() {
		if sleep(ctx, 2*time.Millisecond) != nil {
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
	return nil
}
