package elfsym

import "debug/elf"

// gnuHash is DT_GNU_HASH: a Bloom filter, buckets, and for each hashed symbol
// its hash, whose lowest bit ends a bucket's chain.
type gnuHash struct {
	v        view
	buckets  uint32
	first    uint32 // index of the first hashed symbol
	bloom    uint32 // words in the filter
	shift    uint32
	bucketAt uint64
	chainAt  uint64
}

func openGNUHash(v view) (gnuHash, bool) {
	h, ok := v.bytes(0, 16)
	if !ok {
		return gnuHash{}, false
	}
	g := gnuHash{v: v, buckets: le.Uint32(h), first: le.Uint32(h[4:]), bloom: le.Uint32(h[8:]), shift: le.Uint32(h[12:])}
	g.bucketAt = 16 + 8*uint64(g.bloom)
	g.chainAt = g.bucketAt + 4*uint64(g.buckets)
	if g.buckets == 0 || g.bloom == 0 || g.chainAt > v.size {
		return gnuHash{}, false
	}
	return g, true
}

// maxChain bounds the walk along one chain of either hash table.
const maxChain = 1 << 16

// each calls f with the indexes of the symbols whose names have the same hash
// as name.
func (g gnuHash) each(name string, f func(i uint32)) {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	word, ok := g.v.u64(16 + 8*uint64(h/64%g.bloom))
	if mask := uint64(1)<<(h%64) | uint64(1)<<(h>>(g.shift&31)%64); !ok || word&mask != mask {
		return
	}
	i, ok := g.v.u32(g.bucketAt + 4*uint64(h%g.buckets))
	if !ok || i < g.first {
		return
	}
	var piece []byte
	for range maxChain {
		if len(piece) < 4 {
			if piece = g.v.upTo(g.chainAt+4*uint64(i-g.first), 64); len(piece) < 4 {
				return
			}
		}
		c := le.Uint32(piece)
		if c|1 == h|1 {
			f(i)
		}
		if c&1 != 0 {
			return
		}
		piece = piece[4:]
		i++
	}
}

// symbols returns the number of symbols in the table: one more than the index
// of the last symbol in the chain that starts last.
func (g gnuHash) symbols(limit uint32) uint32 {
	last := uint32(0)
	g.v.sub(g.bucketAt, 4*uint64(g.buckets)).scan(4, func(_ uint64, b []byte) bool {
		for ; len(b) >= 4; b = b[4:] {
			last = max(last, le.Uint32(b))
		}
		return true
	})
	if last < g.first {
		return min(g.first, limit)
	}
	n := last
	g.v.sub(g.chainAt+4*uint64(last-g.first), maxChain*4).scan(4, func(_ uint64, b []byte) bool {
		for ; len(b) >= 4; b = b[4:] {
			n++
			if le.Uint32(b)&1 != 0 {
				return false
			}
		}
		return true
	})
	return min(n, limit)
}

// sysvHash is DT_HASH: nbucket, nchain, buckets, chains.
type sysvHash struct {
	v               view
	buckets, chains uint32
}

func openSysvHash(v view) (sysvHash, bool) {
	h, ok := v.bytes(0, 8)
	if !ok || le.Uint32(h) == 0 {
		return sysvHash{}, false
	}
	return sysvHash{v: v, buckets: le.Uint32(h), chains: le.Uint32(h[4:])}, true
}

func (s sysvHash) each(name string, f func(i uint32)) {
	h := uint32(0)
	for i := range len(name) {
		h = h<<4 + uint32(name[i])
		g := h & 0xf0000000
		h ^= g | g>>24
	}
	i, ok := s.v.u32(8 + 4*uint64(h%s.buckets))
	for n := 0; ok && i != 0 && n < maxChain; n++ {
		f(i)
		i, ok = s.v.u32(8 + 4*uint64(s.buckets) + 4*uint64(i))
	}
}

// hashedSymbols returns the number of dynamic symbols, by the hash tables
// that the dynamic section points to.
func hashedSymbols(f *File, limit uint32) uint32 {
	if s, ok := openSysvHash(f.dynView(elf.DT_HASH, maxLoad)); ok {
		return min(s.chains, limit)
	}
	if g, ok := openGNUHash(f.dynView(elf.DT_GNU_HASH, maxLoad)); ok {
		return g.symbols(limit)
	}
	return 0
}
