package elfsym

import (
	"debug/elf"
	"runtime"
	"testing"
)

// endless is a file of a terabyte: the headers of tinyELF, and a symbol table
// that fills the rest. Every symbol is a function at another address.
type endless struct{ head []byte }

const endlessSize = 1 << 40

func (e endless) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		at := off + int64(i)
		if at < int64(len(e.head)) {
			p[i] = e.head[at]
			continue
		}
		n := (at - int64(len(e.head))) / symSize
		switch f := (at - int64(len(e.head))) % symSize; {
		case f == 4:
			p[i] = 0x12
		case f == 0 || f == 6 || f == 16:
			p[i] = 1
		case f >= 8 && f < 12:
			p[i] = byte((0x1000 + n) >> (8 * (f - 8)))
		default:
			p[i] = 0
		}
	}
	return len(p), nil
}

// TestHostileSizes: sizes that a file only claims, or that are real but
// absurd, cost a bounded amount of memory.
func TestHostileSizes(t *testing.T) {
	head := tinyELF()
	const sections = 0x380
	grow := func(i int, kind elf.SectionType) {
		h := head[sections+i*shdrSize:]
		le.PutUint32(h[4:], uint32(kind))
		le.PutUint64(h[24:], uint64(len(head)))
		le.PutUint64(h[32:], endlessSize-uint64(len(head)))
	}
	grow(3, elf.SHT_SYMTAB)
	text := head[sections+shdrSize:]
	le.PutUint64(text[32:], 1<<32) // room for all of them
	f, err := New(endless{head}, endlessSize, "endless", nil)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if s, ok := f.Symbol(0x1234); !ok || s.Addr != 0x1234 {
		t.Errorf("%+v %v", s, ok)
	}
	runtime.ReadMemStats(&after)
	if taken := after.Sys - before.Sys; taken > 256<<20 {
		t.Errorf("the index took %d MB", taken>>20)
	}
	if _, b, ok := f.Section(".symtab"); ok {
		t.Errorf("loaded a section of %d bytes", len(b))
	}
}
