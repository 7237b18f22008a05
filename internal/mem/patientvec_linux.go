package mem

import "os"

// ReadVec is [Memory.ReadVec]. If the call sleeps too long, the ranges are read one at a time, up to their absent pages.
func (p *Patient) ReadVec(dst [][]byte, addrs []uint64) (n int, err error) {
	size := 0
	for _, b := range dst {
		size += len(b)
	}
	if size == 0 {
		return 0, nil
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		for i := range dst {
			dst[i] = dst[i][:0]
		}
		return 0, os.ErrClosed
	}
	if p.left == 0 && len(p.absent) == 0 {
		n, err = p.apart(&job{size: size, dst: dst, addrs: addrs})
		if err != ErrAbsent {
			p.mu.Unlock()
			return n, err
		}
		n, err = 0, nil
	}
	p.mu.Unlock()
	for i, b := range dst {
		got, e := p.ReadAt(b, int64(addrs[i]))
		dst[i] = b[:got]
		if n += got; e != nil && err == nil {
			err = e
		}
	}
	return n, err
}
