package elfsym

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"ptools/internal/cursor"
)

const (
	// maxLoad bounds the bytes of one section in memory, raw or decompressed.
	maxLoad = 128 << 20
	// maxName is the longest name that is read; longer ones count as absent.
	maxName = 32 << 10
	// scanChunk is the size of the pieces in which tables are streamed.
	scanChunk = 256 << 10
)

var le = binary.LittleEndian

// A view is a run of bytes of a file: read piece by piece through r, taken from
// z, or held in mem. The zero view is empty.
type view struct {
	r    io.ReaderAt
	z    *inflated
	off  int64 // in r or z
	size uint64
	mem  []byte
	b    *budget // of the file; nil: none
}

func memView(b []byte) view { return view{mem: b, size: uint64(len(b))} }

// spend charges the budget for n bytes.
func (v view) spend(n uint64) bool {
	if v.mem != nil {
		return v.b.spend(accessCost + n)
	}
	return v.b.spend(readCost + n)
}

// bytes returns n bytes from off, and false unless all of them can be read.
// The caller must not change them.
func (v view) bytes(off, n uint64) ([]byte, bool) {
	if off > v.size || n > v.size-off || n > maxLoad {
		return nil, false
	}
	if n == 0 {
		return nil, true
	}
	if !v.spend(n) {
		return nil, false
	}
	if v.mem != nil {
		return v.mem[off : off+n : off+n], true
	}
	if v.z != nil {
		return v.inflated(off, n)
	}
	b := make([]byte, n)
	return b, v.readAt(b, off)
}

// readAt fills b from off and reports whether it could.
func (v view) readAt(b []byte, off uint64) bool {
	n := uint64(len(b))
	if off > v.size || n > v.size-off || !v.spend(n) {
		return false
	}
	if v.mem != nil {
		copy(b, v.mem[off:])
		return true
	}
	if v.z != nil {
		p, ok := v.inflated(off, n)
		copy(b, p)
		return ok
	}
	m, _ := v.r.ReadAt(b, v.off+int64(off))
	return m == len(b)
}

// inflated returns n bytes from off of z.
func (v view) inflated(off, n uint64) ([]byte, bool) {
	b := v.z.part(uint64(v.off)+off, n)
	return b, b != nil
}

// reader returns a reader of a view that is not inflated.
func (v view) reader() io.Reader {
	if v.mem != nil || v.size == 0 {
		return bytes.NewReader(v.mem)
	}
	return io.NewSectionReader(v.r, v.off, int64(v.size))
}

// upTo returns at most n bytes from off: fewer at the end of the view.
func (v view) upTo(off, n uint64) []byte {
	if off >= v.size {
		return nil
	}
	b, _ := v.bytes(off, min(n, v.size-off))
	return b
}

// sub returns the part of v from off that is at most n bytes long.
func (v view) sub(off, n uint64) view {
	if off > v.size {
		return view{}
	}
	n = min(n, v.size-off)
	if v.mem != nil {
		return view{mem: v.mem[off : off+n], size: n, b: v.b}
	}
	return view{r: v.r, z: v.z, off: v.off + int64(off), size: n, b: v.b}
}

// load returns v with its bytes in memory, or the empty view if it is larger
// than limit or cannot be read.
func (v view) load(limit uint64) view {
	if v.size > limit {
		return view{}
	}
	b, ok := v.bytes(0, v.size)
	if !ok {
		return view{}
	}
	return view{mem: b, size: v.size, b: v.b}
}

// loan is load for what is used for a moment. Its bytes count as the file's until repay.
func (v view) loan(limit uint64) view {
	if v.mem != nil { // nothing is read
		return view{mem: v.mem, size: v.size}
	}
	if v.size > limit || !v.b.borrow(int(v.size)) {
		return view{}
	}
	got := v.load(limit)
	if got.mem == nil {
		v.b.repay(v.size)
	}
	return got
}

// repay gives back what was lent.
func (v view) repay() { v.b.repay(uint64(len(v.mem))) }

// nameBuffers are what names are read into. A lookup reads the names of all symbols at an address, and keeps one.
var nameBuffers = sync.Pool{New: func() any { return new([maxName]byte) }}

// cstring returns the NUL-terminated string at off.
func (v view) cstring(off uint64) (string, bool) {
	var buf *[maxName]byte
	if v.mem == nil && v.z == nil {
		buf = nameBuffers.Get().(*[maxName]byte)
		defer nameBuffers.Put(buf)
	}
	for n := uint64(128); off < v.size; n *= 4 {
		var b []byte
		if n = min(n, maxName); buf == nil {
			b = v.upTo(off, n)
		} else if b = buf[:min(n, v.size-off)]; !v.spend(uint64(len(b))) || !v.readAt(b, off) {
			break
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(b[:i]), true
		}
		if n == maxName || uint64(len(b)) < n {
			break
		}
	}
	return "", false
}

// scan calls f with consecutive pieces of v whose lengths are multiples of
// unit, until f returns false or the view cannot be read. The piece is
// overwritten after f returns. A remainder shorter than unit is left out.
func (v view) scan(unit uint64, f func(off uint64, b []byte) bool) {
	whole := v.size - v.size%unit
	if v.mem != nil {
		if whole > 0 && v.spend(whole) {
			f(0, v.mem[:whole])
		}
		return
	}
	step := max(scanChunk/unit, 1) * unit
	buf := make([]byte, min(step, whole))
	for off := uint64(0); off < whole; off += step {
		b := buf[:min(step, whole-off)]
		if !v.readAt(b, off) || !f(off, b) {
			return
		}
	}
}

// find calls f with every place p of a pattern in pieces b of v from off on, until f returns false.
// A piece has the bytes just before and just behind the pattern as well, if v has them.
func (v view) find(pattern []byte, f func(off uint64, b []byte, p int) bool) {
	overlap := uint64(len(pattern))
	buf := v.mem
	if buf != nil && !v.spend(v.size) {
		return
	}
	if buf == nil {
		buf = make([]byte, min(max(scanChunk, 2*overlap+2), v.size))
	}
	for off := uint64(0); off < v.size; off += uint64(len(buf)) - overlap {
		b := buf[:min(uint64(len(buf)), v.size-off)]
		if v.mem == nil && !v.readAt(b, off) {
			return
		}
		for p := 0; ; p++ {
			i := bytes.Index(b[p:], pattern)
			if i < 0 {
				break
			}
			if p += i; !f(off, b, p) {
				return
			}
		}
		if off+uint64(len(b)) >= v.size {
			return
		}
	}
}

// scanStrings calls f with consecutive pieces of v that hold whole
// NUL-terminated strings. Strings longer than maxName may be left out.
func (v view) scanStrings(f func(off uint64, b []byte) bool) {
	buf := make([]byte, min(scanChunk, v.size))
	for off := uint64(0); off < v.size; {
		b := buf[:min(uint64(len(buf)), v.size-off)]
		if !v.readAt(b, off) {
			return
		}
		end := bytes.LastIndexByte(b, 0) + 1
		if end == 0 {
			off += uint64(len(b))
			continue
		}
		if !f(off, b[:end]) {
			return
		}
		off += uint64(end)
	}
}

// element returns element i of a table at off, of numbers of 4 or 8 bytes.
func (v view) element(off, i, size uint64) (uint64, bool) {
	if i >= maxLoad {
		return 0, false
	}
	c := cursor.Cursor{B: v.upTo(off+i*size, size)}
	n := c.Uint(size)
	return n, !c.Bad
}

func (v view) u32(off uint64) (uint32, bool) {
	var b [4]byte
	if !v.readAt(b[:], off) {
		return 0, false
	}
	return le.Uint32(b[:]), true
}

func (v view) u64(off uint64) (uint64, bool) {
	var b [8]byte
	if !v.readAt(b[:], off) {
		return 0, false
	}
	return le.Uint64(b[:]), true
}
