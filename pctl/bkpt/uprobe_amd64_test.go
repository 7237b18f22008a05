package bkpt

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"ptools/internal/ptrace"
)

// fakeProbe counts what the test says.
type fakeProbe struct {
	addr   uint64
	tid    int
	n      uint64
	closed bool
}

func (p *fakeProbe) Count() (uint64, error) { return p.n, nil }
func (p *fakeProbe) Close() error           { p.closed = true; return nil }

// kernel opens fake probes.
type kernel struct {
	open   []*fakeProbe
	refuse int // thread that gets none
}

var errRefused = errors.New("refused")

func (k *kernel) probe(addr uint64, tid int) (Probe, error) {
	if tid == k.refuse {
		return nil, errRefused
	}
	p := &fakeProbe{addr: addr, tid: tid, n: 1}
	k.open = append(k.open, p)
	return p, nil
}

func (k *kernel) living() int {
	n := 0
	for _, p := range k.open {
		if !p.closed {
			n++
		}
	}
	return n
}

func newUprobes(k *kernel) *Uprobes {
	return NewUprobes(k.probe, func(c io.Closer) { c.Close() })
}

func TestUprobes(t *testing.T) {
	m, k := newText(), new(kernel)
	orig := bytes.Clone(m.b)
	tab, u := NewTable(m), newUprobes(k)
	must(t, u.Start(1))
	must(t, u.Start(2))
	must(t, u.Start(2))
	a, err := tab.AddTrap(textBase, u)
	must(t, err)
	b, err := tab.AddTrap(textBase+16, u)
	must(t, err)
	own := mustAdd(t, tab, textBase+32)
	if u.Len() != 0 {
		t.Fatalf("%d probes before Arm", u.Len())
	}
	must(t, tab.Arm())
	if k.living() != 4 || !a.Armed() || !a.After() || own.After() {
		t.Fatalf("%d probes, armed %t, after %t", k.living(), a.Armed(), a.After())
	}
	m.b[0] = breakByte // the kernel writes it
	p := bytes.Clone(m.b[:64])
	tab.Overlay(p, textBase)
	if !bytes.Equal(p, orig[:64]) {
		t.Error("overlay shows the kernel's trap")
	}
	must(t, tab.Disarm())
	if k.living() != 4 || m.b[32] != orig[32] {
		t.Error("a rendezvous lifts int3s and keeps probes")
	}
	must(t, tab.Arm())

	must(t, u.Start(3))
	u.Exit(1)
	if n := u.Len(); n != 4 || k.living() != 4 {
		t.Errorf("%d probes, %d open, want 4", n, k.living())
	}
	if n, err := u.Count(a.Addr); n != 3 || err != nil {
		t.Errorf("count %d, %v, want that of the ended thread too", n, err)
	}

	perf := Stop{Code: trapPerf, Data: b.Addr, PC: b.Addr + 1}
	if got, addr, ok := tab.Recognise(perf); got != b || addr != b.Addr || !ok {
		t.Errorf("Recognise = %v, %#x, %t", got, addr, ok)
	}
	if got, _, ok := tab.Recognise(Stop{Code: siKernel, PC: b.Addr + 1}); got != nil || ok {
		t.Error("an int3 of the program's own at a probed address is taken for ours")
	}
	must(t, tab.Remove(b))
	if got, addr, ok := tab.Recognise(perf); got != nil || addr != perf.PC || !ok {
		t.Errorf("Recognise of a lifted probe = %v, %#x, %t: it must go on where it is", got, addr, ok)
	}
	tab.Settle()
	if _, _, ok := tab.Recognise(perf); !ok {
		t.Error("a probe that is still being closed is not ours after Settle: its signal would kill")
	}
	if _, _, ok := tab.Recognise(Stop{Code: trapPerf, Data: b.Addr + 1, PC: perf.PC}); ok {
		t.Error("a perf event of the program's own is taken for ours")
	}
	child := &text{base: m.base, b: bytes.Clone(m.b)}
	must(t, tab.Clean(child))
	if child.b[0] != breakByte || child.b[32] != orig[32] {
		t.Error("Clean: the kernel's traps are the kernel's, ours are ours")
	}
	tab.Forget()
	if k.living() != 0 || u.Len() != 0 {
		t.Errorf("%d probes after exec", k.living())
	}
}

func TestUprobesRefused(t *testing.T) {
	k := &kernel{refuse: 7}
	tab, u := NewTable(newText()), newUprobes(k)
	must(t, u.Start(1))
	must(t, u.Start(7))
	must(t, tab.Arm())
	if _, err := tab.AddTrap(textBase, u); !errors.Is(err, errRefused) {
		t.Errorf("AddTrap: %v", err)
	}
	if tab.Len() != 0 || k.living() != 0 || u.Len() != 0 {
		t.Errorf("%d breakpoints, %d probes left", tab.Len(), k.living())
	}
	u.Exit(7)
	b, err := tab.AddTrap(textBase, u)
	must(t, err)
	if err := u.Start(7); !errors.Is(err, errRefused) {
		t.Errorf("Start: %v", err)
	}
	if !b.Armed() {
		t.Error("the other threads lost their probes")
	}
}

// TestUndo: what is lost is known; that the rest is exact the differential test
// shows.
func TestUndo(t *testing.T) {
	for _, c := range []struct {
		name, code string
		lost       int
		ok         bool
	}{
		{"endbr64", "f30f1efa", -1, true},
		{"push rbp", "55", -1, true},
		{"sub rsp,8", "4883ec08", -1, true},
		{"lea rsp,[rsp-8]", "488d6424f8", -1, true},
		{"lea r10,[rsp+8]", "4c8d542408", 10, true},
		{"mov rbp,rsp", "4889e5", rbp, true},
		{"mov edi,edi", "89ff", rdi, true},
		{"xor eax,eax", "31c0", rax, true},
		{"cmp edi,5", "83ff05", -1, true},
		{"test rdi,rdi", "4885ff", -1, true},
		{"xchg eax,ebx", "93", -1, false},
		{"cpuid", "0fa2", -1, false},
		{"call", "e800000000", -1, true},
	} {
		p, err := MakePlan(code(t, c.code), textBase)
		must(t, err)
		r := ptrace.Regs{Rip: textBase + uint64(p.Len())}
		if lost, ok := p.Undo(&r); lost != c.lost || ok != c.ok || ok && r.Rip != textBase {
			t.Errorf("%s: lost %d, %t, rip %#x, want %d, %t", c.name, lost, ok, r.Rip, c.lost, c.ok)
		}
	}
}
