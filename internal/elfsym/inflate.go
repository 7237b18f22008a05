package elfsym

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// compressed reports whether the bytes of s are compressed, in the generic
// form (SHF_COMPRESSED) or in the older GNU form (.zdebug_*).
func (s *section) compressed() bool {
	return s.flags&elf.SHF_COMPRESSED != 0 || strings.HasPrefix(s.name, ".zdebug_")
}

// An inflated is a compressed section that is decompressed from its beginning
// as far as anybody has asked for, and kept. Its method may be called from any
// goroutine.
type inflated struct {
	size   uint64 // of the whole, as the section says
	budget *budget

	mu     sync.Mutex
	r      io.Reader // nil at the end, and after an error
	out    []byte
	closer io.Closer // of r; may be nil
}

// packedBuffer is how much of a compressed section is read at a time.
const packedBuffer = 16 << 10

// inflate returns a compressed section whose bytes in the file are raw, nil if
// nothing is known of its compression.
func inflate(s *section, raw view, b *budget) *inflated {
	z := &inflated{budget: b}
	kind := elf.COMPRESS_ZLIB
	if s.flags&elf.SHF_COMPRESSED != 0 {
		h := raw.upTo(0, chdrSize)
		if len(h) < chdrSize {
			return nil
		}
		kind, z.size = elf.CompressionType(le.Uint32(h)), le.Uint64(h[8:])
		raw = raw.sub(chdrSize, raw.size)
	} else {
		const head = 12
		h := raw.upTo(0, head)
		if len(h) < head || string(h[:4]) != "ZLIB" {
			return nil
		}
		z.size = binary.BigEndian.Uint64(h[4:])
		raw = raw.sub(head, raw.size)
	}
	packed := bufio.NewReaderSize(raw.reader(), packedBuffer)
	switch kind {
	case elf.COMPRESS_ZLIB:
		r, err := zlib.NewReader(packed)
		if err != nil {
			return nil
		}
		z.r = r
	case elf.COMPRESS_ZSTD:
		r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxLoad))
		if err != nil {
			return nil
		}
		z.r, z.closer = r, r.IOReadCloser()
	default:
		return nil
	}
	return z
}

// first returns the first n bytes, nil if there are not as many or if they are
// more than may be kept. The caller must not change them.
func (z *inflated) first(n uint64) []byte {
	if n > z.size || n > maxLoad {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	for uint64(len(z.out)) < n && z.r != nil {
		if !z.more() {
			z.end()
		}
	}
	if n > uint64(len(z.out)) {
		return nil
	}
	return z.out[:n:n]
}

// more decompresses a piece and reports whether another may follow. Memory is
// taken as the bytes arrive: what a header promises is not believed before that.
func (z *inflated) more() bool {
	n := len(z.out)
	if n == cap(z.out) {
		room := min(z.size, max(2*uint64(n), 4*packedBuffer))
		if room <= uint64(n) || !z.budget.take(room-uint64(n)) {
			return false
		}
		z.out = append(make([]byte, 0, room), z.out...)
	}
	got, err := z.r.Read(z.out[n:cap(z.out)])
	z.out = z.out[:n+got]
	return err == nil
}

func (z *inflated) end() {
	z.r = nil
	if z.closer != nil {
		z.closer.Close() // gives memory back; there is nothing to fail
	}
}
