package elfsym

import (
	"os"
	"sync/atomic"

	"ptools/internal/patience"
)

// piece is how much is read at once.
const piece = 256 << 10

// A Patient is a file that is read by goroutines of its own, unless its file system is certain to answer. If a read
// hangs, its goroutine is left behind, and ends when the file system answers or is unmounted. Every later read
// fails. A Patient is safe for concurrent use.
type Patient struct {
	f     held
	local bool
	hung  atomic.Bool
}

// NewPatient returns the Patient of a file, which it does not close. If the file system does not even say what it is, every
// read fails.
func NewPatient(f *os.File) *Patient { return patient(f, f) }

// patient returns the Patient of what an open file is held by.
func patient(file *os.File, by held) *Patient {
	p := &Patient{f: by}
	sure, err := patience.Do(func() (bool, error) { return local(file), nil }, func(bool) {})
	p.local = sure
	p.hung.Store(err != nil)
	return p
}

// Close closes what the file is held by. A file system may have to answer to that (FUSE_FLUSH).
func (p *Patient) Close() error {
	if p.local {
		return p.f.Close()
	}
	_, err := patience.Do(func() (struct{}, error) { return struct{}{}, p.f.Close() }, func(struct{}) {})
	return err
}

// Hung reports whether a read has got no answer.
func (p *Patient) Hung() bool { return p.hung.Load() }

// ReadAt implements io.ReaderAt. Its error is patience.ErrHung if the file system does not answer.
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

// read reads a piece. The goroutine has a buffer of its own, because the caller may use b again after we have given
// up.
func (p *Patient) read(b []byte, off int64) (int, error) {
	if p.hung.Load() {
		return 0, patience.ErrHung
	}
	own := make([]byte, len(b))
	n, err := patience.Do(func() (int, error) { return p.f.ReadAt(own, off) }, func(int) {})
	if err == patience.ErrHung {
		p.hung.Store(true)
	}
	return copy(b, own[:n]), err
}

// Hung reports whether a read of the file has got no answer. Then later answers of the File may lack something.
func (f *File) Hung() bool {
	p, ok := f.file.r.(*Patient)
	return ok && p.Hung()
}
