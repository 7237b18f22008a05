package elfsym

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

// ErrHung is the error of a file whose file system does not answer: that of a server that is down, or of a
// daemon that has stopped (FUSE).
var ErrHung = errors.New("its file system does not answer")

const (
	// patience is how long a read may take.
	patience = time.Second
	// piece is how much is read at once.
	piece = 256 << 10
)

// A Patient is a file that is read by goroutines of its own, unless its file system answers for sure. A goroutine
// that the file system keeps waiting is left behind, and ends when it answers or is unmounted; every read fails from
// then on. Safe for concurrent use.
type Patient struct {
	f     held
	local bool
	hung  atomic.Bool
}

// NewPatient returns the Patient of a file, which it does not close.
func NewPatient(f *os.File) *Patient { return &Patient{f: f, local: local(f)} }

// Hung reports that a read has got no answer.
func (p *Patient) Hung() bool { return p.hung.Load() }

// ReadAt implements io.ReaderAt. ErrHung where the file system does not answer.
func (p *Patient) ReadAt(b []byte, off int64) (n int, err error) {
	if p.local {
		return p.f.ReadAt(b, off)
	}
	for n < len(b) && err == nil {
		var m int
		m, err = p.read(b[n:min(n+piece, len(b))], off+int64(n))
		n += m
	}
	return n, err
}

// A piecework is the outcome of a read.
type piecework struct {
	n   int
	err error
}

// read reads a piece. The goroutine has a buffer of its own: the caller uses b again when we have given up.
func (p *Patient) read(b []byte, off int64) (int, error) {
	if p.hung.Load() {
		return 0, ErrHung
	}
	own := make([]byte, len(b))
	done := make(chan piecework, 1)
	go func() {
		n, err := p.f.ReadAt(own, off)
		done <- piecework{n, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case got := <-done:
		return copy(b, own[:got.n]), got.err
	case <-timer.C:
		p.hung.Store(true)
		return 0, ErrHung
	}
}

// Hung reports that a read of the file has got no answer: what is unknown of it since is not told.
func (f *File) Hung() bool {
	p, ok := f.file.r.(*Patient)
	return ok && p.Hung()
}
