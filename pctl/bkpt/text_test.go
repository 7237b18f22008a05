package bkpt

import (
	"bytes"
	"io"
	"testing"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// text is a target's memory in tests: bytes at a base address.
type text struct {
	base   uint64
	b      []byte
	reads  int
	writes int
}

func (m *text) at(p []byte, off int64) ([]byte, bool) {
	i := uint64(off) - m.base
	if i >= uint64(len(m.b)) {
		return nil, false
	}
	return m.b[i:min(i+uint64(len(p)), uint64(len(m.b)))], true
}

func (m *text) ReadAt(p []byte, off int64) (int, error) {
	m.reads++
	b, ok := m.at(p, off)
	if !ok {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, b)
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

func (m *text) WriteAt(p []byte, off int64) (int, error) {
	m.writes++
	b, ok := m.at(p, off)
	if !ok {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(b, p)
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

const textBase = 0x401000

// newText is a page of `push rbp; mov rbp,rsp; nopw …; ret` over and over, and a
// page of zeros for scratch slots.
func newText() *text {
	f := []byte{0x55, 0x48, 0x89, 0xe5, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0x0f, 0xa2, 0xc9, 0xc3, 0x90, 0x90}
	b := bytes.Repeat(f, 4096/len(f))
	return &text{base: textBase, b: append(b, make([]byte, 4096)...)}
}

func (m *text) check(t *testing.T, want []byte) {
	t.Helper()
	if !bytes.Equal(m.b, want) {
		t.Fatalf("text is % x, want % x", m.b[:64], want[:64])
	}
}

func mustAdd(t *testing.T, tab *Table, addr uint64) *Breakpoint {
	t.Helper()
	b, err := tab.Add(addr)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
