package mem

import (
	"bytes"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A worker reads until it is left behind, or jobs is closed.
type worker struct {
	jobs  chan job
	done  chan outcome
	ended chan struct{}
	tid   atomic.Int64 // of the thread that makes the present call
	buf   []byte       // what the present call reads into: the caller may use its own again after we have given up
}

type job struct {
	view view
	size int
	addr int64
}

type outcome struct {
	n   int
	err error
}

func (w *worker) run(m *Memory) {
	defer close(w.ended)
	for j := range w.jobs {
		w.tid.Store(int64(unix.Gettid())) // the thread stays the same during the call
		n, err := j.view.read(m, w.buf[:j.size], j.addr)
		w.tid.Store(0)
		w.done <- outcome{n, err}
	}
}

// sleeps reports whether the worker's thread sleeps in its call, rather than waits for a processor or for Go's runtime.
func (w *worker) sleeps() bool {
	tid := w.tid.Load()
	if tid == 0 {
		return false
	}
	stat, err := os.ReadFile("/proc/self/task/" + strconv.FormatInt(tid, 10) + "/stat")
	if err != nil {
		return true
	}
	at := bytes.LastIndexByte(stat, ')')
	return at+2 < len(stat) && stat[at+2] != 'R'
}
