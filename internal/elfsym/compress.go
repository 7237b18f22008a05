package elfsym

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz/lzma"
)

// compressed reports whether the bytes of s are compressed, in the generic
// form (SHF_COMPRESSED) or in the older GNU form (.zdebug_*).
func (s *section) compressed() bool {
	return s.flags&elf.SHF_COMPRESSED != 0 || strings.HasPrefix(s.name, ".zdebug_")
}

// decompress returns the contents of a compressed section if they are no
// longer than limit, and are as long as its header says.
func decompress(s *section, raw view, limit uint64) view {
	raw = raw.load(limit)
	b := raw.mem
	var size uint64
	kind := elf.COMPRESS_ZLIB
	if s.flags&elf.SHF_COMPRESSED != 0 {
		if len(b) < chdrSize {
			return view{}
		}
		kind, size = elf.CompressionType(le.Uint32(b)), le.Uint64(b[8:])
		b = b[chdrSize:]
	} else {
		if len(b) < 12 || string(b[:4]) != "ZLIB" {
			return view{}
		}
		size = binary.BigEndian.Uint64(b[4:])
		b = b[12:]
	}
	if size == 0 || size > limit {
		return view{}
	}
	var r io.Reader
	switch kind {
	case elf.COMPRESS_ZLIB:
		z, err := zlib.NewReader(bytes.NewReader(b))
		if err != nil {
			return view{}
		}
		r = z
	case elf.COMPRESS_ZSTD:
		z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxLoad))
		if err != nil {
			return view{}
		}
		defer z.Close()
		r = z
	default:
		return view{}
	}
	return readExactly(r, size, uint64(len(b)))
}

// readExactly reads size bytes from r. Memory is taken as the bytes arrive:
// what a header promises is not believed before that.
func readExactly(r io.Reader, size, packed uint64) view {
	var out bytes.Buffer
	out.Grow(int(min(size, 4*packed)))
	n, err := io.Copy(&out, io.LimitReader(r, int64(size)))
	if err != nil || uint64(n) != size {
		return view{}
	}
	return memView(out.Bytes())
}

// maxMini bounds a decompressed .gnu_debugdata; distributions' are a few
// hundred kilobytes.
const maxMini = 64 << 20

// unxz decompresses the first block of an xz stream, at most limit bytes of
// it. The container is read here and only the LZMA2 data given to the library:
// its own reader takes the memory for whatever dictionary any block asks for.
func unxz(b []byte, limit int64) ([]byte, bool) {
	data, dict, ok := xzBlock(b)
	if !ok || dict > limit {
		return nil, false
	}
	r, err := lzma.Reader2Config{DictCap: int(max(dict, lzma.MinDictCap))}.NewReader2(bytes.NewReader(data))
	if err != nil {
		return nil, false
	}
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil || int64(len(out)) > limit {
		return nil, false
	}
	return out, true
}

// xzBlock returns the LZMA2 data of the first block of an xz stream and the
// size of its dictionary. Layout: the .xz file format, sections 2.1.1, 3.1
// and 5.3.1. Only blocks with the one filter LZMA2 are known.
func xzBlock(b []byte) (data []byte, dict int64, ok bool) {
	const streamHeader = 12
	if len(b) < streamHeader+8 || string(b[:6]) != "\xfd7zXZ\x00" {
		return nil, 0, false
	}
	h := b[streamHeader:]
	size := (int(h[0]) + 1) * 4
	flags, p := h[1], 2
	if h[0] == 0 || len(h) < size || flags&3 != 0 {
		return nil, 0, false
	}
	data, h = h[size:], h[:size]
	for range flags>>6&1 + flags>>7&1 { // compressed and uncompressed size
		_, n := binary.Uvarint(h[p:])
		if n <= 0 {
			return nil, 0, false
		}
		p += n
	}
	if len(h) < p+3 || h[p] != 0x21 || h[p+1] != 1 || h[p+2] > 40 {
		return nil, 0, false
	}
	bits := h[p+2]
	return data, int64(2|bits&1) << (bits/2 + 11), true
}
