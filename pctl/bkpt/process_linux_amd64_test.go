package bkpt

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/mem"
	"ptools/internal/ptest"
	"ptools/internal/x86"
)

// libcText starts a process that waits for its input and returns its memory and
// the executable mapping of its C library.
func libcText(t testing.TB) (m *mem.Memory, start, end uint64) {
	t.Helper()
	g := ptest.Start(t, ptest.BuildC(t, "../../internal/ptest/testdata/idle.c"))
	g.Ready()
	m, err := mem.Open(g.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(g.PID) + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, " r-xp ") && strings.Contains(line, "/libc") {
			if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err != nil {
				t.Fatal(err)
			}
			return m, start, end
		}
	}
	t.Skip("no shared C library in the target")
	return nil, 0, 0
}

// spread adds n breakpoints all over [start, end), at the beginnings of
// instructions that decoding from the start finds.
func spread(t testing.TB, tab *Table, m Memory, n int, start, end uint64) {
	t.Helper()
	code := make([]byte, end-start)
	if _, err := m.ReadAt(code, int64(start)); err != nil {
		t.Fatal(err)
	}
	gap := (end - start) / uint64(n+1)
	next := uint64(0)
	for i := uint64(0); i < end-start-codeSize && tab.Len() < n; {
		length := x86.Length(code[i:])
		if length == 0 {
			i++
			continue
		}
		if i >= next {
			if _, err := tab.Add(start + i); err != nil {
				t.Fatal(err)
			}
			next += gap
		}
		i += uint64(length)
	}
}

// TestProcessText arms a thousand breakpoints in the text of a process, which is
// read-only there, and leaves no byte changed.
func TestProcessText(t *testing.T) {
	m, start, end := libcText(t)
	before := make([]byte, end-start)
	_, err := m.ReadAt(before, int64(start))
	must(t, err)
	tab := NewTable(m)
	must(t, tab.Scratch().Reserve(end-4096, 4096))
	spread(t, tab, m, 1000, start, end-4096)
	must(t, tab.Arm())
	displaced := 0
	for addr := start; addr < end; addr++ {
		if b := tab.At(addr); b != nil && b.Plan().Kind() == x86.Displace {
			if _, direct, err := tab.Scratch().Place(b); err == nil && direct {
				displaced++
			}
		}
	}
	now := bytes.Clone(before)
	_, err = m.ReadAt(now, int64(start))
	must(t, err)
	planted := 0
	for i := range now {
		if now[i] != before[i] && now[i] == breakByte {
			planted++
		}
	}
	if planted < 990 || displaced == 0 {
		t.Errorf("%d traps and %d copies in the text of %d breakpoints", planted, displaced, tab.Len())
	}
	tab.Overlay(now, start)
	if !bytes.Equal(now, before) {
		t.Error("overlay shows what we planted")
	}
	must(t, tab.Disarm())
	_, err = m.ReadAt(now, int64(start))
	must(t, err)
	if !bytes.Equal(now, before) {
		t.Error("text is not as it was")
	}
}

// BenchmarkProcess measures the cost of a rendezvous in a real process: the traps
// leave the text and return.
func BenchmarkProcess(b *testing.B) {
	for _, n := range []int{1, 50, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m, start, end := libcText(b)
			tab := NewTable(m)
			spread(b, tab, m, n, start, end)
			b.ReportAllocs()
			for b.Loop() {
				if err := tab.Arm(); err != nil {
					b.Fatal(err)
				}
				if err := tab.Disarm(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
