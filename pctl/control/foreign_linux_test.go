package control

import (
	"errors"
	"testing"

	"ptools/internal/perfevent"
	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// foreign is a target in which another program has a uprobe, as perf and bpftrace do.
type foreign struct {
	*ptest.Target
	t         *testing.T
	c         *Controller
	exe       string
	addr, off uint64 // of the instruction, in memory and in its file
}

func newForeign(t *testing.T, o *Options) *foreign {
	t.Helper()
	needX86(t)
	needUprobes(t)
	f := &foreign{t: t}
	f.exe = ptest.Copy(t, ptest.BuildC(t, "calls.c")) // in a file that other tests use, the kernel would take their int3s for its own
	f.Target = ptest.StartWith(t, &ptest.Options{Truth: ptest.NewTruth(t)}, f.exe, "-t", "1", "-f", "push")
	f.Ready()
	f.c = attach(t, f.PID, o)
	f.addr = f.c.Space().ByName("", "f_push")[0].Addr
	var err error
	if e := f.c.Do(bg, func() {
		file, at, e := f.c.traps.probes.textFile(f.addr)
		if err = e; err == nil {
			f.off = at.off
			file.Close()
		}
	}); e != nil || err != nil {
		t.Fatal(e, err)
	}
	return f
}

// probe places a uprobe, and waits until the only thread that calls has passed it.
func (f *foreign) probe() *perfevent.Counter {
	f.t.Helper()
	other, err := perfevent.OpenCounter(f.PID, f.PID, f.exe, f.off, f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.passes(other, 10)
	return other
}

// passes waits for more arrivals at a uprobe.
func (f *foreign) passes(other *perfevent.Counter, more uint64) {
	f.t.Helper()
	goal := other.Count() + more
	f.WaitFor("the uprobe", func() bool { return other.Count() > goal })
}

// lift takes the uprobe away again, and waits until the text is the program's own.
func (f *foreign) lift(other *perfevent.Counter) {
	f.t.Helper()
	if err := other.Close(); err != nil {
		f.t.Error(err)
	}
	f.WaitFor("the kernel to lift its trap", func() bool {
		text := []byte{0}
		err := f.c.Do(bg, func() { f.c.tracees.Memory.Mem.ReadAt(text, int64(f.addr)) })
		return err == nil && text[0] == 0x55 // push rbp
	})
}

// hits waits for more hits of b.
func (f *foreign) hits(b *Break, more uint64) {
	f.t.Helper()
	goal := b.Hits() + more
	f.WaitFor("hits", func() bool { return b.Hits() > goal })
}

// TestForeignUprobe: a breakpoint is refused where another program has a uprobe. If the uprobe comes later, the
// kernel takes our int3 for its own: the int3 then has no hits, and leaves the text with the uprobe. The next stop of
// the process puts it back.
func TestForeignUprobe(t *testing.T) {
	f := newForeign(t, &Options{Mode: ModeKill})
	other := f.probe()
	if _, err := f.c.Break(bg, f.addr, func(*Hit) {}); !errors.Is(err, ErrForeignTrap) {
		t.Errorf("breakpoint at the uprobe of another program: %v", err)
	}
	f.lift(other)

	b, err := f.c.Break(bg, f.addr, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	f.hits(b, 10)
	other = f.probe()
	before := b.Hits()
	f.passes(other, 1000)
	f.lift(other)
	f.AwaitWork(1)
	if n := b.Hits() - before; n != 0 {
		t.Errorf("%d hits of an int3 that the kernel takes for its own", n)
	}
	if err := f.c.Pause(bg, func(*Stopped) error { return nil }); err != nil {
		t.Fatal(err)
	}
	f.hits(b, 10)
}

// TestForeignUprobeShares: a uprobe of ours and another program's are both hit.
func TestForeignUprobeShares(t *testing.T) {
	f := newForeign(t, &Options{Mode: ModeKill, Trap: TrapUprobe})
	b, err := f.c.Break(bg, f.addr, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	f.hits(b, 10)
	other := f.probe()
	f.hits(b, 100)
	f.passes(other, 100)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	f.hits(b, 100)
}

// elsewhere starts another process of the same program, and counts its arrivals at f_push by a uprobe of that process.
func (f *foreign) elsewhere() *perfevent.Counter {
	f.t.Helper()
	g := ptest.StartWith(f.t, &ptest.Options{Truth: ptest.NewTruth(f.t)}, f.exe, "-t", "1", "-f", "push")
	g.Ready()
	other, err := perfevent.OpenCounter(g.PID, g.PID, f.exe, f.off, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { other.Close() })
	f.passes(other, 10)
	return other
}

// TestInt3Swallowed: where another program has a uprobe in another process, an int3 of ours is hit as long as our process has no uprobes.
// If it gets one, at any place, the kernel takes the int3 for its own.
func TestInt3Swallowed(t *testing.T) {
	f := newForeign(t, &Options{Mode: ModeKill, Trap: TrapInt3})
	f.elsewhere()
	b, err := f.c.Break(bg, f.addr, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	f.hits(b, 10)
	never := f.off + f.c.Space().ByName("", "f_nop")[0].Addr - f.addr
	own, err := perfevent.OpenCounter(f.PID, f.PID, f.exe, never, 0)
	if err != nil {
		t.Fatal(err)
	}
	before := b.Hits()
	f.AwaitWork(1000)
	if n := b.Hits() - before; n > 1 { // one may have been on its way
		t.Errorf("%d hits of an int3 in a process that has uprobes", n)
	}
	if err := own.Close(); err != nil {
		t.Error(err)
	}
}

// TestNoInt3BesideProbes: int3s become uprobes when their process gets one, for a breakpoint that counts, and others that are set
// later are uprobes. So none is lost to the uprobe of another program in another process.
func TestNoInt3BesideProbes(t *testing.T) {
	f := newForeign(t, &Options{Mode: ModeKill})
	b, err := f.c.Break(bg, f.addr, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	f.hits(b, 10)
	f.elsewhere()
	count, err := f.c.BreakSymbol(bg, "", "main", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.hits(b, 1000)
	late, err := f.c.Break(bg, f.addr, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	f.hits(late, 10)
	if err := f.c.Do(bg, func() {
		if n := len(int3s(&f.c.traps)); n != 0 {
			t.Errorf("%d int3s beside uprobes", n)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Break{b, late} {
		if err := b.Remove(bg); err != nil {
			t.Error(err)
		}
	}
	if err := count.Remove(bg); err != nil {
		t.Error(err)
	}
	f.AwaitWork(1)
}

// TestLateLoad: if the thread that loads an object blocks the signals of uprobes, a breakpoint in it is set when they come, and that
// hits before were not counted is said.
func TestLateLoad(t *testing.T) {
	needX86(t)
	needUprobes(t)
	plugin := ptest.BuildC(t, "plugin.c", "-shared", "-fPIC")
	for _, tt := range []struct {
		orders string
		hits   uint64
		want   error
	}{
		{"lpp", 2, nil},
		{"blpup", 1, ErrLate},
		{"blup", 1, ErrLate},
	} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "testdata/lateload.c"), plugin)
		g.Ready()
		c := attach(t, g.PID, &Options{Trap: TrapUprobe})
		events := c.Bus().Subscribe(notify.BreakRefused, notify.Undead)
		s, err := c.BreakSymbol(bg, "", "plugin_call", 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		order(t, g, tt.orders)
		g.Stdin.Close()
		var told error
		for {
			e, err := events.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == notify.Undead {
				break
			}
			if told != nil || e.Symbol != "plugin_call" || e.Object == "" {
				t.Errorf("%s: told again, or of what: %v", tt.orders, e)
			}
			told = e.Err
		}
		events.Close()
		if s.Hits() != tt.hits || !errors.Is(told, tt.want) {
			t.Errorf("%s: %d hits, want %d; told %v, want %v", tt.orders, s.Hits(), tt.hits, told, tt.want)
		}
	}
}
