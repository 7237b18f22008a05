package unwind

import (
	"debug/elf"
	"testing"
)

// unbounded is a budget without bounds.
type unbounded struct{}

func (unbounded) Spend(int) bool { return true }
func (unbounded) Keep(int) bool  { return true }

// Generation: nothing is let go of.
func (unbounded) Generation() uint32 { return 0 }

// A testObject is an object read by the standard library.
type testObject struct {
	f *elf.File
	unbounded
}

func openObject(t testing.TB, path string) testObject {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return testObject{f: f}
}

func (o testObject) Section(name string) (uint64, []byte, bool) {
	s := o.f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return 0, nil, false
	}
	b, err := s.Data()
	return s.Addr, b, err == nil
}

func (o testObject) SectionAddr(name string) (uint64, bool) {
	if s := o.f.Section(name); s != nil {
		return s.Addr, true
	}
	return 0, false
}

func (o testObject) ReadAddr(b []byte, addr uint64) bool {
	for _, p := range o.f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			n, _ := p.ReadAt(b, int64(addr-p.Vaddr))
			return n == len(b)
		}
	}
	return false
}

func (o testObject) Entry() uint64 { return o.f.Entry }

func (o testObject) golang() goTable { return nil }

func (o testObject) extent(uint64) (start, end uint64, ok bool) { return 0, 0, false }
