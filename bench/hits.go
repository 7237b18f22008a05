package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"ptools/pctl"
)

// hot is a function of the target hot.c that is called again and again.
type hot struct {
	symbol string
	copy   string // of its first instruction, for the C floor; empty: it emulates push
}

var (
	hotPush      = hot{"f_push", ""}
	hotDisplaced = hot{"f_displaced", "slot_displaced"}
	hotEndbr     = hot{"f_endbr", ""}
	hotMov       = hot{"f_mov", ""}
)

// hits is the row of breakpoint hits per second, by the target's own count of its calls. A
// handler that counts is called at each hit.
func hits(f hot, threads int) trial {
	return func(ctx context.Context, l *lab) {
		b := newHitBench(ctx, l, f, threads)
		ignore := gdb("break *"+f.symbol, "ignore 1 2000000000", "continue")
		python := gdb("python\n" + fmt.Sprintf(gdbScript, f.symbol))
		r := row{Unit: perSecond}
		r.Series = interleave(ctx, l.repeats, []contender{
			{"no tool", none, "", b.free},
			{"gdb ignore", peer, "gdb", b.under(ignore)},
			{"gdb Python", peer, "gdb", b.under(python)},
			{"ltrace", peer, "ltrace", b.under([]string{"ltrace", "-o", "/dev/null", "-x", f.symbol + "@MAIN", "-p"})},
			{"C floor", floor, "", b.floor},
			{"pctl", ours, "", b.counting(pctl.TrapAuto)},
			{"pctl, int3", ours, "", b.counting(pctl.TrapInt3)},
		})
		r.Goals = []goal{
			{Peers: []string{"gdb ignore", "gdb Python"}, AtLeast: 6},
			{Peers: []string{"C floor"}, AtLeast: 0.9},
		}
		l.add(r)
	}
}

// gdbScript is a breakpoint whose handler counts and lets the program run on.
const gdbScript = `
class Count(gdb.Breakpoint):
    hits = 0
    def stop(self):
        Count.hits += 1
        return False
Count("*%s")
gdb.execute("continue")
`

// hitBench measures hits on one function. Each measurement has a target of its own.
type hitBench struct {
	l         *lab
	argv      []string // of the target
	f         hot
	tracer    string // the C floor
	addresses map[string]uint64
	window    time.Duration
	code      []byte // of the function, as the file has it
}

func newHitBench(ctx context.Context, l *lab, f hot, threads int) *hitBench {
	// The program is at a fixed address, because the C floor does not read mappings.
	exe := l.c(ctx, "hot.c", "-no-pie")
	b := hitsOf(l, f, exe, "-f", f.symbol, "-t", strconv.Itoa(threads))
	b.tracer = l.c(ctx, "floor.c")
	return b
}

// hitsOf measures hits in any target at a fixed address.
func hitsOf(l *lab, f hot, argv ...string) *hitBench {
	b := &hitBench{l: l, f: f, argv: argv, window: l.window(300*time.Millisecond, 2*time.Second), addresses: functions(argv[0])}
	b.code = codeOf(argv[0], f.symbol)
	return b
}

// codeOf returns the code of a function of an executable.
func codeOf(exe, symbol string) []byte {
	f := must(elf.Open(exe))
	defer f.Close()
	for _, s := range must(f.Symbols()) {
		if s.Name != symbol {
			continue
		}
		section := f.Sections[s.Section]
		code := make([]byte, s.Size)
		must(section.ReadAt(code, int64(s.Value-section.Addr)))
		return code
	}
	fail("no symbol %s in %s", symbol, exe)
	return nil
}

// functions returns the addresses of the symbols of an executable.
func functions(exe string) map[string]uint64 {
	f := must(elf.Open(exe))
	defer f.Close()
	addresses := map[string]uint64{}
	for _, s := range must(f.Symbols()) {
		addresses[s.Name] = s.Value
	}
	return addresses
}

// free returns the rate of calls without any tool.
func (b *hitBench) free(ctx context.Context) float64 {
	t := b.l.start(ctx, b.argv...)
	defer t.stop()
	return t.rate(ctx, b.window)
}

// under returns the measurement of a tool whose arguments end with the pid.
func (b *hitBench) under(argv []string) measure {
	return func(ctx context.Context) float64 {
		t := b.l.start(ctx, b.argv...)
		defer t.stop()
		return b.observe(ctx, t, with(argv, strconv.Itoa(t.pid)))
	}
}

// observe measures the target under a tool. Then the tool is killed, and with it the target.
func (b *hitBench) observe(ctx context.Context, t *target, argv []string) (rate float64) {
	tool := must(launch(ctx, argv...))
	defer tool.end(syscall.SIGKILL)
	if err := attempt(func() { rate = b.hindered(ctx, t) }); err != nil {
		fail("%w%s", err, lastLine(tool.out.bytes()))
	}
	return rate
}

// floor measures the C tracer.
func (b *hitBench) floor(ctx context.Context) float64 {
	argv := []string{b.tracer, fmt.Sprint(b.addresses[b.f.symbol]), fmt.Sprint(b.addresses[b.f.copy])}
	return b.under(argv)(ctx)
}

// counting returns the measurement of this program itself, which uses package pctl and counts.
func (b *hitBench) counting(trap pctl.Trap) measure {
	var n atomic.Uint64
	return func(ctx context.Context) float64 {
		return b.grabbed(ctx, trap, func(*pctl.Hit) { n.Add(1) })
	}
}

// grabbed measures a breakpoint of package pctl.
func (b *hitBench) grabbed(ctx context.Context, trap pctl.Trap, h pctl.Handler) float64 {
	t := b.l.start(ctx, b.argv...)
	defer t.stop()
	check(pctl.QuietStops()) // no other child of ours stops
	s := pctl.NewSession(&pctl.SessionOptions{KeepAwake: true})
	defer s.Close()
	p := must(s.Grab(ctx, t.pid, &pctl.GrabOptions{Trap: trap}))
	w0 := t.page.Work()
	bp := must(p.Break(ctx, pctl.Where{Symbol: b.f.symbol}, h))
	rate := b.hindered(ctx, t)
	if hits := bp.Hits(); hits == 0 || hits > t.page.Work()-w0+uint64(1000) {
		fail("%d hits in %d calls", hits, t.page.Work()-w0)
	}
	return rate
}

// hindered waits until the breakpoint is in the target's text and the target runs. Then it
// observes the target.
func (b *hitBench) hindered(ctx context.Context, t *target) float64 {
	check(await(ctx, "the breakpoint", func() bool { return b.planted(t) || !t.alive() }))
	w := t.page.Work()
	check(await(ctx, "calls", func() bool { return t.page.Work() > w+10 || !t.alive() }))
	rate := t.rate(ctx, b.window)
	if !b.planted(t) {
		fail("the breakpoint has gone")
	}
	return rate
}

// planted reports whether the function's code is not the file's. A uprobe is seen there too. Not every tool has its trap at the first
// instruction.
func (b *hitBench) planted(t *target) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", t.pid))
	if err != nil {
		return false
	}
	defer f.Close()
	now := make([]byte, len(b.code))
	_, err = f.ReadAt(now, int64(b.addresses[b.f.symbol]))
	return err == nil && !bytes.Equal(now, b.code)
}
