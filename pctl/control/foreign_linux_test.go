package control

import (
	"errors"
	"testing"

	"ptools/internal/perfevent"
	"ptools/internal/ptest"
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
