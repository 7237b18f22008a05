package elfsym

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// compressed reports whether the bytes of s are compressed, in the generic
// form (SHF_COMPRESSED) or in the older GNU form (.zdebug_*).
func (s *section) compressed() bool {
	return s.flags&elf.SHF_COMPRESSED != 0 || strings.HasPrefix(s.name, ".zdebug_")
}

// An inflated is a compressed section that is decompressed from its beginning
// as far as needed. The debug information of a large program is hundreds of
// megabytes, of which only a few are needed. So a few are kept, in pieces. A
// piece that is needed again after it was dropped is decompressed from the
// beginning again, a bounded number of times. Its method may be called from any
// goroutine.
type inflated struct {
	size   uint64 // of the whole, according to the section
	kind   elf.CompressionType
	raw    view // the compressed bytes
	budget *budget

	mu     sync.Mutex
	r      io.Reader // nil before the beginning, at the end, and after an error
	closer io.Closer // of r; may be nil
	starts int       // how often decompression has begun
	next   uint64    // index of the piece that r continues with
	end    uint64    // index behind the last piece, as far as known
	left   int64     // bytes that may still be decompressed
	pieces *lru.Cache[uint64, []byte]
}

const (
	// packedBuffer is how much of a compressed section is read at a time.
	packedBuffer = 16 << 10
	pieceSize    = 256 << 10
	// maxPieces is how many pieces of one section are kept.
	maxPieces = 32
	// maxStarts is how often a section is decompressed from its beginning.
	maxStarts = 4
)

// A section is decompressed at most maxStarts times as far as it is read. All of that together may be leastInflated bytes and
// maxRatio times what the section has in the file. Debug information grows up to tenfold; what grows more is made to cost time.
const (
	maxRatio      = 32
	leastInflated = 64 << 20
)

// inflate returns a compressed section whose bytes in the file are raw, nil if
// its compression is not known.
func inflate(s *section, raw view, b *budget) *inflated {
	z := &inflated{budget: b, kind: elf.COMPRESS_ZLIB, end: ^uint64(0)}
	if s.flags&elf.SHF_COMPRESSED != 0 {
		h := raw.upTo(0, chdrSize)
		if len(h) < chdrSize {
			return nil
		}
		z.kind, z.size = elf.CompressionType(le.Uint32(h)), le.Uint64(h[8:])
		z.raw = raw.sub(chdrSize, raw.size)
	} else {
		const head = 12
		h := raw.upTo(0, head)
		if len(h) < head || string(h[:4]) != "ZLIB" {
			return nil
		}
		z.size = binary.BigEndian.Uint64(h[4:])
		z.raw = raw.sub(head, raw.size)
	}
	z.left = z.most()
	pieces, err := lru.New[uint64, []byte](maxPieces)
	if err != nil || !z.start() {
		return nil
	}
	z.pieces = pieces
	return z
}

// start begins decompression at the beginning.
func (z *inflated) start() bool {
	z.stop()
	if z.starts == maxStarts {
		return false
	}
	z.starts++
	z.next = 0
	packed := bufio.NewReaderSize(z.raw.reader(), packedBuffer)
	switch z.kind {
	case elf.COMPRESS_ZLIB:
		r, err := zlib.NewReader(packed)
		if err != nil {
			return false
		}
		z.r = r
	case elf.COMPRESS_ZSTD:
		r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxLoad))
		if err != nil {
			return false
		}
		z.r, z.closer = r, r.IOReadCloser()
	}
	return z.r != nil
}

func (z *inflated) stop() {
	if z.closer != nil {
		z.closer.Close() // frees memory, and cannot fail
	}
	z.r, z.closer = nil, nil
}

// part returns n bytes from off, nil if there are not as many. The caller must
// not change them.
func (z *inflated) part(off, n uint64) []byte {
	if n > z.size || off > z.size-n || n > maxLoad {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	var all []byte
	for got := uint64(0); got < n; got = uint64(len(all)) {
		b := z.piece((off + got) / pieceSize)
		at := (off + got) % pieceSize
		if at >= uint64(len(b)) {
			return nil
		}
		b = b[at:min(uint64(len(b)), at+n-got)]
		if uint64(len(b)) == n {
			return b[:n:n]
		}
		all = append(all, b...) // memory grows with the bytes that arrive: the size in a header is not trusted
	}
	return all
}

// piece returns the bytes from i*pieceSize to the next piece, fewer at the end.
func (z *inflated) piece(i uint64) []byte {
	if b, ok := z.pieces.Get(i); ok {
		return b
	}
	if i >= z.end || (z.r == nil || i < z.next) && !z.start() {
		return nil
	}
	var b []byte
	for z.next <= i {
		if b == nil || cap(b) < pieceSize {
			b = make([]byte, min(pieceSize, z.size-z.next*pieceSize))
		}
		n, err := io.ReadFull(z.r, b[:min(pieceSize, z.size-z.next*pieceSize)])
		b = b[:n]
		if z.left -= int64(n); z.left < 0 || !z.budget.spend(inflateCost*uint64(n)) {
			z.end = z.next
			z.stop()
			return nil
		}
		at := z.next
		z.next++
		if err != nil {
			z.end = z.next
			z.stop()
		}
		if at == i {
			z.keep(at, b)
			return b
		}
		if err != nil {
			return nil
		}
		if z.pieces.Len() < maxPieces && z.keep(at, b) {
			b = nil
		}
	}
	return b
}

// drop lets go of all pieces, unless some are being read.
func (z *inflated) drop() {
	if !z.mu.TryLock() {
		return
	}
	defer z.mu.Unlock()
	z.pieces.Purge()
	z.starts, z.left = 0, z.most()
}

// most is how many bytes may be decompressed.
func (z *inflated) most() int64 { return leastInflated + int64(min(z.raw.size, maxLoad)*maxRatio) }

// keep remembers a piece. If there are too many, it replaces another one.
func (z *inflated) keep(i uint64, b []byte) bool {
	if z.pieces.Len() < maxPieces && !z.budget.fits(pieceSize) {
		return false
	}
	z.pieces.Add(i, b)
	return true
}
