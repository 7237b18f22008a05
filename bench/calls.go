package main

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"ptools/pctl"
)

// timedCalls is the row of calls that are counted and timed, from their beginnings to their ends, by the target's own count of its calls. pctl has
// a probe at the return instruction, which the kernel steps; bpftrace replaces the return address, which kills targets that move or unwind their stacks.
func timedCalls(f hot, than goal) trial {
	return func(ctx context.Context, l *lab) {
		b := newHitBench(ctx, l, f, 1)
		script := fmt.Sprintf("uprobe:%[1]s:%[2]s { @s[tid] = nsecs; } uretprobe:%[1]s:%[2]s /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }", b.argv[0], b.f.symbol)
		r := row{Unit: perSecond}
		r.Series = interleave(ctx, l.repeats, []contender{
			{"no tool", none, "", b.free},
			{"bpftrace", peer, "bpftrace", b.under([]string{"bpftrace", "-e", script, "-p"})},
			{"gdb FinishBreakpoint", peer, "gdb", b.under(gdb("python\n" + fmt.Sprintf(gdbFinish, b.f.symbol)))},
			{"ltrace", peer, "ltrace", b.under([]string{"ltrace", "-T", "-o", "/dev/null", "-x", b.f.symbol + "@MAIN", "-p"})},
			{"uftrace, from the start", peer, "uftrace", b.uftrace},
			{"pctl.Calls", ours, "", b.called},
		})
		r.Goals = []goal{{Peers: []string{"gdb FinishBreakpoint"}, AtLeast: 6}}
		if than.AtLeast > 0 {
			r.Goals = append(r.Goals, than)
		}
		l.add(r)
	}
}

// timedGoCalls is timedCalls of a Go program, which bpftrace's uretprobes may kill. dlv prints each call.
func timedGoCalls(ctx context.Context, l *lab) {
	b := hitsOf(l, hot{"main.hot", ""}, l.gobuild(ctx, "hotgo.go"))
	r := row{Unit: perSecond}
	r.Series = interleave(ctx, l.repeats, []contender{
		{"no tool", none, "", b.free},
		{"dlv trace", peer, "dlv", b.under([]string{"dlv", "trace", "^main.hot$", "-p"})},
		{"pctl.Calls", ours, "", b.called},
	})
	r.Goals = []goal{{Peers: []string{"dlv trace"}, AtLeast: 6}}
	l.add(r)
}

// uftrace measures a target that uftrace starts. It writes into the program's text and its stack, from within, so it cannot be had for one that runs.
// Each call is a record in a file.
func (b *hitBench) uftrace(ctx context.Context) float64 {
	dir := b.l.path("uftrace")
	defer os.RemoveAll(dir)
	t := b.l.start(ctx, append([]string{"uftrace", "record", "--no-libcall", "--no-event", "-d", dir, "-P", "^" + b.f.symbol + "$"}, b.argv...)...)
	defer func() {
		syscall.Kill(-t.cmd.Process.Pid, syscall.SIGINT) // it ends the program, and removes its shared memory
		await(ctx, "the end of uftrace", func() bool { return !t.alive() })
		t.stop()
	}()
	list := must(os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", t.pid)))
	_, err := fmt.Sscan(string(list), &t.pid)
	check(err)
	return b.hindered(ctx, t)
}

// gdbFinish takes the times of calls by a breakpoint at the entry and one at the return address.
const gdbFinish = `
import time
class End(gdb.FinishBreakpoint):
    total = 0
    def stop(self):
        End.total += time.monotonic() - self.begun
        return False
class Begin(gdb.Breakpoint):
    def stop(self):
        end = End(gdb.newest_frame(), internal=True)
        end.begun = time.monotonic()
        return False
Begin("*%s")
gdb.execute("continue")
`

// called measures the calls of package pctl, and that they are those of the target.
func (b *hitBench) called(ctx context.Context) float64 {
	t := b.l.start(ctx, b.argv...)
	defer t.stop()
	s := pctl.NewSession(nil)
	defer s.Close()
	p := must(s.Grab(ctx, t.pid, &pctl.GrabOptions{ReadOnly: true}))
	w0 := t.page.Work()
	c := must(p.Calls(ctx, &pctl.CallSpec{Functions: []string{"a.out`" + b.f.symbol}}))
	defer c.Close()
	rate := b.hindered(ctx, t)
	all := c.Stats()
	if len(all) != 1 || all[0].Returned == 0 || all[0].Calls > t.page.Work()-w0+1000 {
		fail("%+v in %d calls", all, t.page.Work()-w0)
	}
	return rate
}
