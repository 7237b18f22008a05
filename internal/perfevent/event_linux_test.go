package perfevent

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// probed is a target that calls the function at offset off of its file on demand.
type probed struct {
	*ptest.Target
	t    testing.TB
	path string
	off  uint64
}

// startProbed skips the test where uprobe events cannot be had.
func startProbed(t testing.TB) *probed {
	t.Helper()
	if err := Supported(); err != nil {
		t.Skip(err)
	}
	// The first instruction is an endbr64, which the kernel need not step.
	p := &probed{t: t, path: ptest.BuildC(t, "testdata/probed.c", "-fcf-protection=full")}
	f, err := elf.Open(p.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name != "probed" {
			continue
		}
		for _, seg := range f.Progs {
			if seg.Type == elf.PT_LOAD && s.Value >= seg.Vaddr && s.Value < seg.Vaddr+seg.Filesz {
				p.off = s.Value - seg.Vaddr + seg.Off
			}
		}
	}
	p.Target = ptest.Start(t, p.path)
	p.Ready()
	return p
}

func (p *probed) open(o *Options) *Event {
	p.t.Helper()
	e, err := Open(p.path, p.off, p.PID, o)
	if errors.Is(err, fs.ErrPermission) {
		p.t.Skipf("%v: needs CAP_PERFMON", err)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

// call sends the target a line and returns its answer: signals of perf, other
// SIGTRAPs, and the data of the last signal.
func (p *probed) call(line string) (perf, other int, data uint64) {
	p.t.Helper()
	if _, err := io.WriteString(p.Stdin, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
	if _, err := fmt.Sscan(p.Line(), &perf, &other, &data); err != nil {
		p.t.Fatal(err)
	}
	return perf, other, data
}

func (p *probed) count(e *Event) uint64 {
	p.t.Helper()
	n, err := e.Count()
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func TestCount(t *testing.T) {
	p := startProbed(t)
	e := p.open(nil)
	defer e.Close()
	const calls = 12345
	if perf, other, _ := p.call(fmt.Sprint(calls)); perf+other != 0 {
		t.Errorf("%d signals from counting", perf+other)
	}
	if n := p.count(e); n != calls {
		t.Errorf("counted %d, want %d", n, calls)
	}
	p.call("t100") // by a new thread, which the event does not cover
	if n := p.count(e); n != calls {
		t.Errorf("counted %d after another thread's calls, want %d", n, calls)
	}
}

func TestSigTrap(t *testing.T) {
	p := startProbed(t)
	const data = 0xfeedfacecafe
	e := p.open(&Options{SigTrap: true, SigData: data})
	defer e.Close()
	const calls = 1000
	perf, other, got := p.call(fmt.Sprint(calls))
	if perf != calls || other != 0 || got != data {
		t.Errorf("%d perf signals, %d others, data %#x, want %d, 0, %#x", perf, other, got, calls, uint64(data))
	}
	if n := p.count(e); n != calls {
		t.Errorf("counted %d, want %d", n, calls)
	}
}

// TestTwoEvents: several events may probe one instruction.
func TestTwoEvents(t *testing.T) {
	p := startProbed(t)
	a := p.open(nil)
	p.call("10")
	b := p.open(nil)
	defer b.Close()
	p.call("10")
	if na, nb := p.count(a), p.count(b); na != 20 || nb != 10 {
		t.Errorf("counts %d and %d, want 20 and 10", na, nb)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	p.call("10")
	if n := p.count(b); n != 20 {
		t.Errorf("counted %d after the other event was closed, want 20", n)
	}
}

// TestCloser: what was closed counts and signals no more, and the text is the
// file's again (the target's cleanup looks).
func TestCloser(t *testing.T) {
	p := startProbed(t)
	var c Closer
	for range 5 {
		c.Close(p.open(&Options{SigTrap: true}))
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if perf, other, _ := p.call("100"); perf+other != 0 {
		t.Errorf("%d signals after Wait", perf+other)
	}
	ptest.TextIntact(t, p.PID)
	c.Close(failing{})
	if err := c.Wait(); err != errFailing {
		t.Errorf("Wait = %v", err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("second Wait = %v", err)
	}
}

var errFailing = errors.New("failing")

type failing struct{}

func (failing) Close() error { return errFailing }

func TestOpenErrors(t *testing.T) {
	p := startProbed(t)
	p.open(nil).Close() // or skip
	for _, c := range []struct {
		name, path string
		off        uint64
		tid        int
		want       error
	}{
		{"no file", filepath.Join(t.TempDir(), "none"), 0, p.PID, fs.ErrNotExist},
		{"no thread", p.path, p.off, 1 << 22, syscall.ESRCH},
		{"zero byte in path", "a\x00b", 0, p.PID, syscall.EINVAL},
		{"beyond the file", p.path, 1 << 40, p.PID, syscall.EINVAL},
	} {
		e, err := Open(c.path, c.off, c.tid, nil)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err == nil {
			e.Close()
		}
	}
}

func TestNoUprobesIsUnsupported(t *testing.T) {
	if !errors.Is(fmt.Errorf("open: %w", ErrNoUprobes), errors.ErrUnsupported) {
		t.Error("ErrNoUprobes is not an errors.ErrUnsupported")
	}
}

// BenchmarkOpen is the price of a probe on one thread.
func BenchmarkOpen(b *testing.B) {
	p := startProbed(b)
	var c Closer
	var all []*Event
	for b.Loop() {
		all = append(all, p.open(nil))
	}
	for _, e := range all {
		c.Close(e)
	}
	c.Wait()
}

// BenchmarkClose is the price of being rid of one.
func BenchmarkClose(b *testing.B) {
	p := startProbed(b)
	for b.Loop() {
		b.StopTimer()
		e := p.open(nil)
		b.StartTimer()
		e.Close()
	}
}
