package elfsym

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// maxMini bounds a decompressed .gnu_debugdata. Those of distributions are a
// few hundred kilobytes.
const maxMini = 64 << 20

// What is packed may become leastMini bytes and miniTimes as many. Symbols and names become five times as many.
const (
	leastMini = 1 << 20
	miniTimes = 32
)

// unxz decompresses the first block of an xz stream, at most limit bytes of
// it. The container is read here, and only the LZMA2 data are given to the
// library: its own reader would allocate any dictionary that a block asks for.
func unxz(b []byte, limit int64) ([]byte, bool) {
	data, dict, ok := xzBlock(b)
	if !ok || dict > maxMini {
		return nil, false
	}
	// A dictionary that is larger than all the output is not needed.
	r, err := lzma.Reader2Config{DictCap: int(max(min(dict, limit), lzma.MinDictCap))}.NewReader2(bytes.NewReader(data))
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
// and 5.3.1. Only blocks with LZMA2 as their only filter are supported.
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
