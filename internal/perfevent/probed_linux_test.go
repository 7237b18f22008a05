package perfevent

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"testing"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) {
	if os.Getenv("PTOOLS_PROBES") == "events" { // as in ptest/uprobe, which this package cannot import
		WithoutLinks()
	}
	ptest.Main(m)
}

// probed is a target that calls the function at addr, which is offset off of its
// file, when it is asked to.
type probed struct {
	*ptest.Target
	t         testing.TB
	path      string
	off, addr uint64
}

func startProbed(t testing.TB) *probed {
	t.Helper()
	// The program is at a fixed address. The first instruction is an endbr64, which
	// the kernel need not step.
	return startAt(t, ptest.BuildC(t, "testdata/probed.c", "-fcf-protection=full", "-no-pie"), "probed")
}

// startAt starts an executable that has a fixed address; the function is the symbol.
func startAt(t testing.TB, path, symbol string) *probed {
	t.Helper()
	p := &probed{t: t, path: path}
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
		if s.Name != symbol {
			continue
		}
		for _, seg := range f.Progs {
			if seg.Type == elf.PT_LOAD && s.Value >= seg.Vaddr && s.Value < seg.Vaddr+seg.Filesz {
				p.addr, p.off = s.Value, s.Value-seg.Vaddr+seg.Off
			}
		}
	}
	p.Target = ptest.Start(t, p.path)
	p.Ready()
	return p
}

// available skips the test where uprobes are not available, and fails it for any other
// error.
func (p *probed) available(err error) {
	p.t.Helper()
	if errors.Is(err, fs.ErrPermission) {
		p.t.Skipf("%v: needs CAP_BPF and CAP_PERFMON", err)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *probed) counter() *Counter {
	p.t.Helper()
	c, err := OpenCounter(p.PID, p.PID, p.path, p.off, p.addr)
	p.available(err)
	return c
}

// call sends the target a line, and returns the number that it prints: how many SIGTRAPs it got.
func (p *probed) call(line string) (traps int) {
	p.t.Helper()
	if _, err := io.WriteString(p.Stdin, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
	if _, err := fmt.Sscan(p.Line(), &traps); err != nil {
		p.t.Fatal(err)
	}
	return traps
}
