package main

import (
	"context"
	"debug/elf"
	"errors"
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
)

// hits is the row of breakpoint hits per second: the target's own count of its calls. A handler
// that counts is called at each.
func hits(f hot, threads int) trial {
	return func(ctx context.Context, l *lab) ([]row, error) {
		b, err := newHitBench(ctx, l, f, threads)
		if err != nil {
			return nil, err
		}
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
		return []row{r}, nil
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
}

func newHitBench(ctx context.Context, l *lab, f hot, threads int) (*hitBench, error) {
	// At a fixed address: the C floor knows nothing of mappings.
	exe, err := l.c(ctx, "hot.c", "-no-pie")
	if err != nil {
		return nil, err
	}
	tracer, err := l.c(ctx, "floor.c")
	if err != nil {
		return nil, err
	}
	b := &hitBench{
		l: l, f: f, argv: []string{exe, "-f", f.symbol, "-t", strconv.Itoa(threads)}, tracer: tracer,
		window: l.window(300*time.Millisecond, 2*time.Second),
	}
	b.addresses, err = functions(exe)
	return b, err
}

// functions returns the addresses of the symbols of an executable.
func functions(exe string) (map[string]uint64, error) {
	f, err := elf.Open(exe)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	addresses := map[string]uint64{}
	for _, s := range symbols {
		addresses[s.Name] = s.Value
	}
	return addresses, nil
}

// free is the rate of calls without any tool.
func (b *hitBench) free(ctx context.Context) (float64, error) {
	t, err := b.l.start(ctx, b.argv...)
	if err != nil {
		return 0, err
	}
	defer t.stop()
	return t.rate(ctx, b.window)
}

// under returns the measurement of a tool whose arguments end with the pid.
func (b *hitBench) under(argv []string) measure {
	return func(ctx context.Context) (float64, error) {
		t, err := b.l.start(ctx, b.argv...)
		if err != nil {
			return 0, err
		}
		defer t.stop()
		return b.observe(ctx, t, with(argv, strconv.Itoa(t.pid)))
	}
}

// observe measures the target under a tool, which is killed then: so is the target.
func (b *hitBench) observe(ctx context.Context, t *target, argv []string) (float64, error) {
	tool, err := launch(ctx, argv...)
	if err != nil {
		return 0, err
	}
	defer tool.end(syscall.SIGKILL)
	rate, err := b.hindered(ctx, t)
	if err != nil {
		err = fmt.Errorf("%w%s", err, lastLine(tool.out.bytes()))
	}
	return rate, err
}

// floor measures the C tracer.
func (b *hitBench) floor(ctx context.Context) (float64, error) {
	argv := []string{b.tracer, fmt.Sprint(b.addresses[b.f.symbol]), fmt.Sprint(b.addresses[b.f.copy])}
	return b.under(argv)(ctx)
}

// counting returns the measurement of a program that uses the package, this one, and counts.
func (b *hitBench) counting(trap pctl.Trap) measure {
	var n atomic.Uint64
	return func(ctx context.Context) (float64, error) {
		return b.grabbed(ctx, trap, func(*pctl.Hit) { n.Add(1) })
	}
}

// grabbed measures a breakpoint of package pctl.
func (b *hitBench) grabbed(ctx context.Context, trap pctl.Trap, h pctl.Handler) (rate float64, err error) {
	t, err := b.l.start(ctx, b.argv...)
	if err != nil {
		return 0, err
	}
	defer t.stop()
	if err := pctl.QuietStops(); err != nil { // no child of ours stops by itself
		return 0, err
	}
	s := pctl.NewSession(&pctl.SessionOptions{KeepAwake: true})
	defer s.Close()
	p, err := s.Grab(ctx, t.pid, &pctl.GrabOptions{Trap: trap})
	if err != nil {
		return 0, err
	}
	w0 := t.page.Work()
	bp, err := p.Break(ctx, pctl.Where{Symbol: b.f.symbol}, h)
	if err != nil {
		return 0, err
	}
	if rate, err = b.hindered(ctx, t); err != nil {
		return 0, err
	}
	if hits := bp.Hits(); hits == 0 || hits > t.page.Work()-w0+uint64(1000) {
		return 0, fmt.Errorf("%d hits in %d calls", hits, t.page.Work()-w0)
	}
	return rate, nil
}

// hindered waits until the breakpoint is in the target's text and the target runs, and observes it
// then.
func (b *hitBench) hindered(ctx context.Context, t *target) (float64, error) {
	if err := await(ctx, "the breakpoint", func() bool { return b.planted(t) || !t.alive() }); err != nil {
		return 0, err
	}
	w := t.page.Work()
	if err := await(ctx, "calls", func() bool { return t.page.Work() > w+10 || !t.alive() }); err != nil {
		return 0, err
	}
	rate, err := t.rate(ctx, b.window)
	if err == nil && !b.planted(t) {
		err = errors.New("the breakpoint has gone")
	}
	return rate, err
}

// planted reports whether the first byte of the function is not the program's own. A uprobe is seen
// there too.
func (b *hitBench) planted(t *target) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", t.pid))
	if err != nil {
		return false
	}
	defer f.Close()
	var now [1]byte
	_, err = f.ReadAt(now[:], int64(b.addresses[b.f.symbol]))
	return err == nil && now[0] == int3
}

const int3 = 0xcc
