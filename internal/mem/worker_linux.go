package mem

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ptools/internal/procfs"
)

// A worker reads until it is left behind, or jobs is closed.
type worker struct {
	jobs  chan job
	done  chan outcome
	ended chan struct{}
	tid   atomic.Int64 // of the thread that makes the present call
	buf   []byte       // what the present call reads into: the caller may use its own again after we have given up
	dst   [][]byte     // parts of buf
	addrs []uint64
}

// A job is one call: of ReadVec if addrs is set.
type job struct {
	view  view
	size  int // of all ranges
	addr  int64
	dst   [][]byte // of ReadAt: one
	addrs []uint64
}

// outcome is what a call has read, in the worker's own memory.
type outcome struct {
	n   int
	err error
	dst [][]byte
}

// own returns a job that reads into the worker's memory. The caller may change what the other one refers to.
func (w *worker) own(j *job) job {
	o := *j
	w.dst, w.addrs = w.dst[:0], append(w.addrs[:0], j.addrs...)
	at := 0
	for _, b := range j.dst {
		w.dst = append(w.dst, w.buf[at:at+len(b):at+len(b)])
		at += len(b)
	}
	if o.dst = w.dst; j.addrs != nil {
		o.addrs = w.addrs
	}
	return o
}

func (w *worker) do(m *Memory, j *job) (int, error) {
	if j.addrs != nil {
		return m.ReadVec(j.dst, j.addrs)
	}
	n, err := j.view.read(m, j.dst[0], j.addr)
	j.dst[0] = j.dst[0][:n]
	return n, err
}

func (w *worker) run(m *Memory) {
	defer close(w.ended)
	for j := range w.jobs {
		w.tid.Store(int64(unix.Gettid())) // the thread stays the same during the call, and is another one's as soon as that has ended
		n, err := w.do(m, &j)
		w.tid.Store(0)
		w.done <- outcome{n, err, j.dst}
	}
}

// sleeps reports whether the worker's thread sleeps in its call.
func (w *worker) sleeps() bool {
	tid := w.tid.Load()
	return tid != 0 && procfs.SleepsInRead(int(tid))
}
