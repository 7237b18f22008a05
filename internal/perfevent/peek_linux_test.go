package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

func openPeeker(t testing.TB) *Peeker {
	t.Helper()
	needTaskRegs(t)
	p, err := OpenPeeker()
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// peek looks at a spinning thread, until it is found on a processor.
func peek(t testing.TB, p *Peeker, g *ptest.Target, word uint64) (found *Peeked) {
	g.WaitFor("it is met on a processor", func() bool {
		stat, err := procfs.ReadTaskStat(g.PID, g.PID)
		if err != nil {
			t.Fatal(err)
		}
		found = p.Peek(stat.Processor, g.PID, word)
		return found != nil
	})
	return found
}

// TestPeek: a Peeker reads the registers, a word of memory, and the stack of a running thread.
func TestPeek(t *testing.T) {
	p := openPeeker(t)
	g := ptest.Start(t, ptest.BuildC(t, "jit.c"))
	g.Ready()
	maps, err := procfs.Maps(g.PID)
	if err != nil {
		t.Fatal(err)
	}
	got := peek(t, p, g, maps[0].Start)
	if magic := binary.LittleEndian.AppendUint32(nil, got.Word); string(magic) != "\x7fELF" {
		t.Errorf("the program begins with %q", magic)
	}
	var regs ptrace.Regs
	regs.SetSaved(&got.Regs)
	var stack procfs.Map
	for _, m := range maps {
		if regs.SP() >= m.Start && regs.SP() < m.End {
			stack = m
		}
	}
	if stack.Path != "[stack]" || got.Base != regs.SP()-128 {
		t.Errorf("stack pointer %#x in %q, copied from %#x", regs.SP(), stack.Path, got.Base)
	}
	if want := present(t, g.PID, got.Base, min(stack.End-got.Base, maxPeekPages*4096-got.Base&4095)); uint64(len(got.Stack)) != want {
		t.Errorf("%d bytes of %d", len(got.Stack), want)
	}
	if p.Peek(0, 1<<22+1, 0) != nil {
		t.Error("a thread that is not there was met")
	}
	g.Finish()
}

// present returns how many of the n bytes from an address on, which end with a page, are in memory. A stack need not be
// in memory as a whole: the kernel begins it up to two pages below the arguments (arch_align_stack), and the pages
// between are not used.
func present(t *testing.T, pid int, addr, n uint64) uint64 {
	t.Helper()
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer pagemap.Close()
	for at := addr &^ 4095; at < addr+n; at += 4096 {
		var entry [8]byte
		if _, err := pagemap.ReadAt(entry[:], int64(at/4096*8)); err != nil {
			t.Fatal(err)
		}
		if binary.NativeEndian.Uint64(entry[:])>>63 == 0 {
			return max(at, addr) - addr
		}
	}
	return n
}

// TestOne: One returns the same record of a thread as Read.
func TestOne(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", "3")
	g.Ready()
	tasks := openTasks(t, g.PID)
	if r, err := tasks.One(os.Getpid()); err != nil || r != nil {
		t.Errorf("of another process: %v, %v", r, err)
	}
	tids, _ := procfs.Tasks(g.PID, nil)
	for _, tid := range tids {
		r, err := tasks.One(tid)
		if err != nil {
			t.Fatal(err)
		}
		if r == nil || r.TID != tid || r.Regs.SP() == 0 {
			t.Errorf("thread %d: %+v", tid, r)
		}
	}
}

// BenchmarkPeek looks at a thread that spins.
func BenchmarkPeek(b *testing.B) {
	p := openPeeker(b)
	g := ptest.Start(b, ptest.BuildC(b, "spin.c"), "-t", "1")
	g.Ready()
	tids, _ := procfs.Tasks(g.PID, nil)
	tid := tids[len(tids)-1]
	met := 0
	for b.Loop() {
		stat, _ := procfs.ReadTaskStat(g.PID, tid)
		if p.Peek(stat.Processor, tid, 0) != nil {
			met++
		}
	}
}

// BenchmarkOne reads one thread.
func BenchmarkOne(b *testing.B) {
	g := ptest.Start(b, ptest.BuildC(b, "idle.c"), "-t", "10")
	g.Ready()
	tasks := openTasks(b, g.PID)
	for b.Loop() {
		if _, err := tasks.One(g.PID); err != nil {
			b.Fatal(err)
		}
	}
}
