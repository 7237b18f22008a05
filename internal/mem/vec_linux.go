package mem

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// iovMax is the most ranges one call takes (IOV_MAX, include/uapi/linux/uio.h).
const iovMax = 1024

// Ranges that follow each other at no more than so many bytes are read as one, with what lies between: for each range the kernel
// looks up the mapping and pins the pages, which takes longer than to copy this. It is less than a page, so each page that is read
// has a part of a range.
const between = 2048

// A batch is the argument of one process_vm_readv.
type batch struct {
	local  [iovMax]unix.Iovec
	remote [iovMax]unix.RemoteIovec
	before [iovMax]int // how many bytes are read before each range that belong to none
	waste  [between]byte
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// ReadVec reads len(dst[i]) bytes from addrs[i] into dst[i], for all i. It makes
// one system call per 500 to 1,024 ranges if all can be read. If a range can be read only
// in part, its dst[i] is cut to the part that was read, and the later ranges are
// still read. n is the sum of bytes read; err is the error of the first short
// range. ReadVec allocates nothing. len(addrs) must be len(dst).
func (m *Memory) ReadVec(dst [][]byte, addrs []uint64) (n int, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.fd < 0 {
		for i := range dst {
			dst[i] = dst[i][:0]
		}
		return 0, os.ErrClosed
	}
	b := batches.Get().(*batch)
	defer func() {
		clear(b.local[:min(2*len(dst), iovMax)]) // the pool must not keep a caller's buffers alive
		batches.Put(b)
	}()
	for i := 0; i < len(dst); {
		used, got := m.readBatch(b, dst[i:], addrs[i:])
		whole, rest := 0, got
		for whole < used && rest >= b.before[whole]+len(dst[i+whole]) {
			rest -= b.before[whole] + len(dst[i+whole])
			n += len(dst[i+whole])
			whole++
		}
		i += whole
		if whole == used {
			continue
		}
		rest = max(rest-b.before[whole], 0)
		more, errno := m.pread(dst[i][rest:], int64(addrs[i])+int64(rest))
		n += rest + more
		if errno != 0 {
			dst[i] = dst[i][:rest+more]
			if err == nil {
				err = errno
			}
		}
		i++
	}
	return n, err
}

// readBatch reads as many of the ranges as fit into one call and returns how
// many those were and how many bytes arrived, in order, those before each range included.
func (m *Memory) readBatch(b *batch, dst [][]byte, addrs []uint64) (used, got int) {
	vecs, remotes := 0, 0
	local := func(p *byte, n int) {
		b.local[vecs].Base = p
		b.local[vecs].SetLen(n)
		vecs++
	}
	end := uint64(0) // of the last range
	for ; used < min(len(dst), iovMax) && vecs+2 <= iovMax; used++ {
		b.before[used] = 0
		p := dst[used]
		if len(p) == 0 {
			continue
		}
		if gap := addrs[used] - end; remotes > 0 && gap <= between {
			if gap > 0 {
				local(&b.waste[0], int(gap))
			}
			b.before[used] = int(gap)
			b.remote[remotes-1].Len += int(gap) + len(p)
		} else {
			b.remote[remotes] = unix.RemoteIovec{Base: uintptr(addrs[used]), Len: len(p)}
			remotes++
		}
		local(&p[0], len(p))
		end = addrs[used] + uint64(len(p))
	}
	if vecs == 0 {
		return used, 0
	}
	got, err := unix.ProcessVMReadv(int(m.via.Load()), b.local[:vecs], b.remote[:remotes], 0)
	if err == unix.ESRCH && !m.ended() && m.redirect() {
		got, err = unix.ProcessVMReadv(int(m.via.Load()), b.local[:vecs], b.remote[:remotes], 0)
	}
	if err != nil {
		return used, 0
	}
	return used, got
}
