package mem

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// iovMax is the most ranges one call takes (IOV_MAX, include/uapi/linux/uio.h).
const iovMax = 1024

// A batch is the argument of one process_vm_readv.
type batch struct {
	local  [iovMax]unix.Iovec
	remote [iovMax]unix.RemoteIovec
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// ReadVec reads len(dst[i]) bytes from addrs[i] into dst[i], for all i. It makes
// one system call per 1,024 ranges if all can be read. If a range can be read only
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
		clear(b.local[:min(len(dst), iovMax)]) // the pool must not keep a caller's buffers alive
		batches.Put(b)
	}()
	for i := 0; i < len(dst); {
		used, got := m.readBatch(b, dst[i:], addrs[i:])
		whole, rest := 0, got
		for whole < used && rest >= len(dst[i+whole]) {
			rest -= len(dst[i+whole])
			whole++
		}
		n += got
		i += whole
		if whole == used {
			continue
		}
		more, errno := m.pread(dst[i][rest:], int64(addrs[i])+int64(rest))
		n += more
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
// many those were and how many bytes arrived, in order and without a gap.
func (m *Memory) readBatch(b *batch, dst [][]byte, addrs []uint64) (used, got int) {
	vecs := 0
	for used < len(dst) && vecs < iovMax {
		if p := dst[used]; len(p) > 0 {
			b.local[vecs].Base = &p[0]
			b.local[vecs].SetLen(len(p))
			b.remote[vecs] = unix.RemoteIovec{Base: uintptr(addrs[used]), Len: len(p)}
			vecs++
		}
		used++
	}
	if vecs == 0 {
		return used, 0
	}
	got, err := unix.ProcessVMReadv(int(m.via.Load()), b.local[:vecs], b.remote[:vecs], 0)
	if err == unix.ESRCH && !m.ended() && m.redirect() {
		got, err = unix.ProcessVMReadv(int(m.via.Load()), b.local[:vecs], b.remote[:vecs], 0)
	}
	if err != nil {
		return used, 0
	}
	return used, got
}
