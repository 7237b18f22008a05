package rtld

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// memory is a piece of memory at an address.
type memory struct {
	base uint64
	data []byte
}

func (m memory) ReadAt(p []byte, addr int64) (int, error) {
	if off := uint64(addr) - m.base; off < uint64(len(m.data)) {
		if n := copy(p, m.data[off:]); n == len(p) {
			return n, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// words lays out 8-byte words.
func words(ws ...uint64) []byte {
	var b []byte
	for _, w := range ws {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

const base = 0x10000

// at returns the address of word i of a memory at base.
func at(i int) uint64 { return base + uint64(i)*word }

// TestReadGarbage: reading an invalid list ends, and returns the valid objects before the error.
func TestReadGarbage(t *testing.T) {
	good := func(prev, next uint64) []uint64 { return []uint64{0x1000, at(16), 0x2000, next, prev} }
	name := binary.LittleEndian.Uint64([]byte("libx.so\x00"))
	layout := func(debug []uint64, maps ...[]uint64) []byte {
		ws := append(append([]uint64{}, debug...), make([]uint64, 16-len(debug))...)
		ws = append(ws, name)
		for _, m := range maps {
			ws = append(ws, m...)
		}
		return append(words(ws...), make([]byte, 256)...) // so that names can be read step by step
	}
	head := func(version, state uint64) []uint64 { return []uint64{version, at(17), 0xb4ea, state, 0x7000} }
	for _, c := range []struct {
		name    string
		data    []byte
		objects int
		err     error
	}{
		{"whole", layout(head(1, 0), good(0, at(22)), good(at(17), 0)), 2, nil},
		{"not started", make([]byte, 64), 0, ErrNotReady},
		{"no r_debug", layout([]uint64{1 << 30, 1, 1, 1, 1}), 0, ErrCorrupt},
		{"no state", layout(head(1, 7)), 0, ErrCorrupt},
		{"loop", layout(head(1, 0), good(0, at(22)), good(at(17), at(17))), 2, ErrCorrupt},
		{"itself", layout(head(1, 0), good(0, at(17))), 1, ErrCorrupt},
		{"wild next", layout(head(1, 0), good(0, 0xdead0000)), 1, io.ErrUnexpectedEOF},
		{"wild name", layout(head(1, 0), []uint64{0, 0xdead0000, 0, 0, 0}), 0, io.ErrUnexpectedEOF},
		{"wrong prev", layout(head(1, 0), good(0, at(22)), good(at(99), 0)), 1, ErrCorrupt},
		{"namespaces in a loop", layout(append(head(2, 0), at(0)), good(0, 0)), 1, ErrCorrupt},
		{"wild namespace", layout(append(head(2, 0), 0xdead0000), good(0, 0)), 1, io.ErrUnexpectedEOF},
		{"short", layout(head(1, 0))[:20], 0, io.ErrUnexpectedEOF},
	} {
		state, objects, err := Read(memory{base, c.data}, base)
		if len(objects) != c.objects || !errors.Is(err, c.err) || state != Consistent {
			t.Errorf("%s: %v, %d objects, %v; want %d, %v", c.name, state, len(objects), err, c.objects, c.err)
		}
		for _, o := range objects {
			if o.Name != "libx.so" {
				t.Errorf("%s: name %q", c.name, o.Name)
			}
		}
	}
}

// TestReadName: a name that does not end is cut. A name at the end of readable memory is not read beyond that.
func TestReadName(t *testing.T) {
	long := memory{base, []byte(strings.Repeat("x", 3*maxName))}
	if s, err := readName(long, base+5, new([nameStep]byte)); err != nil || len(s) != maxName {
		t.Errorf("%d bytes, %v", len(s), err)
	}
	last := memory{base, append(make([]byte, 4096-8), "libx.so\x00"...)}
	if s, err := readName(last, base+4096-8, new([nameStep]byte)); err != nil || s != "libx.so" {
		t.Errorf("%q, %v", s, err)
	}
}

// TestMainFromEntry: which pieces of start code are accepted, and which are not.
func TestMainFromEntry(t *testing.T) {
	const main = base + 0x10
	for _, c := range []struct {
		name string
		code string
		want uint64
	}{
		{"mov rdi, imm32", "\x31\xed\x5e\x54\x48\xc7\xc7\x10\x00\x01\x00\xe8\x00\x00\x00\x00", main},
		{"mov edi, imm32", "\x31\xed\x5e\x54\xbf\x10\x00\x01\x00\xe8\x00\x00\x00\x00", main},
		{"lea rdi, [rip]", "\xf3\x0f\x1e\xfa\x31\xed\x48\x8d\x3d\x03\x00\x00\x00\xff\x15\x00\x00\x00\x00", main},
		{"lea rdi, [rip] backwards", "\x31\xed\x48\x8d\x3d\xf7\xff\xff\xff\xff\x15\x00\x00\x00\x00", base},
		{"no frame mark", "\x90\x90\x48\x8d\x3d\x07\x00\x00\x00\xff\x15\x00\x00\x00\x00", 0},
		{"argument lost", "\x31\xed\x48\x8d\x3d\x07\x00\x00\x00\x48\x89\xf7\xe8\x00\x00\x00\x00", 0},
		{"unreadable", "\x31\xed\xbf\x10\x00\x00\x7f\xe8\x00\x00\x00\x00", 0},
		{"for ever", "\x31\xed\x48\x89\xe7\xeb\xfe", 0},
		{"halt", "\x31\xed\xf4", 0},
		{"wild", "\x31\xed\x48\x89\xe7\xe9\x00\x00\x00\x70", 0},
		{"empty", "", 0},
	} {
		code := append([]byte(c.code), make([]byte, 64)...)
		got, ok := MainFromEntry(memory{base, code}, base)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%s: %#x, %v, want %#x", c.name, got, ok, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(words(1, at(5), 1, 0, 0, 0x1000, at(10), 0, 0, 0, 0x61), uint64(0))
	f.Add(words(2, at(6), 1, 0, 0, at(0), 0x1000, at(11), 0, 0, 0, 0x61), uint64(0))
	f.Add(words(2, at(6), 1, 1, 0, at(3), 0x1000, at(6), 0, at(6), 0, 0x61), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, off uint64) {
		state, objects, err := Read(memory{base, data}, base+off)
		if now, e := ReadState(memory{base, data}, base+off); err == nil && (e != nil || now != state) {
			t.Errorf("state %v alone, %v; %v with the objects", now, e, state)
		}
		if len(objects) > len(data)/mapSize*word {
			t.Errorf("%d objects in %d bytes", len(objects), len(data))
		}
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotReady) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
}

func FuzzFind(f *testing.F) {
	phdr := func(kind, vaddr, size uint64) []uint64 { return []uint64{kind, 0, vaddr, 0, size, size, 8} }
	program := append(phdr(uint64(elf.PT_PHDR), 0, 0), phdr(uint64(elf.PT_DYNAMIC), 22*word, 4*word)...)
	program = append(append(program, phdr(uint64(elf.PT_INTERP), 0, 0)...), 0)
	f.Add(words(append(program, uint64(elf.DT_DEBUG), at(26), 0, 0, 1, at(30), 7, 0, 0, 0)...), uint64(3), at(0))
	f.Add(words(append(program, uint64(elf.DT_SONAME), at(26), 0, 0)...), uint64(3), at(0))
	f.Fuzz(func(t *testing.T, data []byte, phnum, symbol uint64) {
		auxv := map[uint64]uint64{atPhdr: base, atPhent: phdrSize, atPhnum: phnum}
		l, err := Find(memory{base, data}, auxv, func(string) (uint64, bool) { return symbol, symbol != 0 })
		if err == nil && l.Break == 0 {
			t.Errorf("%+v without a break address", l)
		}
	})
}

func FuzzMainFromEntry(f *testing.F) {
	f.Add([]byte("\x31\xed\x48\x8d\x3d\x09\x00\x00\x00\xff\x15\x00\x00\x00\x00"))
	f.Add([]byte("\x48\x31\xed\x48\x89\xe7\x48\x83\xe4\xf0\xe8\x00\x00\x00\x00\xeb\xee"))
	f.Add([]byte("\x31\xed\x48\x89\xe7\x48\x8d\x05\x00\x00\x00\x00\xff\xe0"))
	f.Fuzz(func(t *testing.T, code []byte) {
		m := memory{base, code}
		if main, ok := MainFromEntry(m, base); ok && !readable(m, main) {
			t.Errorf("main at %#x", main)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	const n = 100
	ws := []uint64{1, at(6), 1, 0, 0, 0x6f732e78}
	for i := range n {
		prev, next := at(6+5*(i-1)), at(6+5*(i+1))
		if i == 0 {
			prev = 0
		}
		if i == n-1 {
			next = 0
		}
		ws = append(ws, 0x1000, at(5), 0x2000, next, prev)
	}
	m := memory{base, append(words(ws...), make([]byte, 256)...)}
	b.ReportAllocs()
	for b.Loop() {
		if _, objects, err := Read(m, base); err != nil || len(objects) != n {
			b.Fatal(len(objects), err)
		}
	}
}
