package mem

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestWorkerSleepsElsewhere: a worker whose thread sleeps in another call than its read is waited for. Its thread has another
// goroutine by then, or none, because the read has ended and the worker waits for a processor of Go's runtime, as it does
// for long on a busy machine. Pages that do not come are absent nevertheless.
func TestWorkerSleepsElsewhere(t *testing.T) {
	g, half := unserved(t)
	p, err := OpenPatient(g.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w := &worker{jobs: make(chan job, 1), done: make(chan outcome, 1), ended: make(chan struct{}), buf: make([]byte, 1<<20)}
	p.worker = w
	go func() { // ended by Close, or left behind
		defer close(w.ended)
		for j := range w.jobs {
			w.tid.Store(int64(unix.Gettid()))
			ts := unix.NsecToTimespec(int64(4 * sleepLimit))
			for unix.Nanosleep(&ts, &ts) == unix.EINTR {
			}
			n, err := w.do(p.Memory, &j)
			w.tid.Store(0)
			w.done <- outcome{n, err, j.dst}
		}
	}()
	want, size := bytes.Repeat([]byte{1}, 64), int64(pageSize)
	got := make([]byte, 64)
	if n, err := p.ReadAt(got, half-size); n != len(got) || err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", n, err)
	}
	dst := [][]byte{make([]byte, 64), make([]byte, 64)}
	if n, err := p.ReadVec(dst, []uint64{uint64(half - size), uint64(half - 2*size)}); n != 128 || err != nil || !bytes.Equal(dst[1], want) {
		t.Errorf("%d bytes of two ranges, %v", n, err)
	}
	if p.left != 0 {
		t.Errorf("%d reads are left behind", p.left)
	}
	began := time.Now()
	if n, err := p.ReadAt(got, half); n != 0 || err != ErrAbsent || time.Since(began) > 20*sleepLimit*ptest.Slow() {
		t.Errorf("%d bytes, %v after %v", n, err, time.Since(began))
	}
}
