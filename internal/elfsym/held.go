package elfsym

import (
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A held gives access to the bytes of an open file until Close. The runtime closes one that
// becomes unreachable.
type held interface {
	io.ReaderAt
	io.Closer
}

// openFiles is how many files are held by a descriptor.
var openFiles atomic.Int64

// hold takes ownership of a regular file of size bytes. Files keep up to a quarter of the descriptors that
// the program may have. Further files are mapped: a mapping takes no descriptor, and refers to the same file
// even if that is deleted. A file that cannot be mapped is held by its descriptor.
func hold(file *os.File, size int64) *Patient {
	p := patient(file, nil)
	p.f = holdBy(file, size)
	return p
}

func holdBy(file *os.File, size int64) held {
	if openFiles.Add(1) <= share() {
		return newOpened(file)
	}
	if m, err := newMapped(file, size); err == nil {
		openFiles.Add(-1)
		file.Close()
		return m
	}
	return newOpened(file)
}

// share returns how many descriptors are for files.
func share() int64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(l.Cur / 4)
}

// opened is a file held by its descriptor, which openFiles counts.
type opened struct {
	*os.File
	discount func()
}

func newOpened(file *os.File) *opened {
	o := &opened{file, sync.OnceFunc(func() { openFiles.Add(-1) })}
	runtime.AddCleanup(o, func(discount func()) { discount() }, o.discount)
	return o
}

func (o *opened) Close() error {
	o.discount()
	return o.File.Close()
}

// mapped is a file held by a mapping. It is read through /proc/self/mem: there a page that the
// file has lost meanwhile is an error, while an access to the mapping raises SIGBUS.
type mapped struct {
	cleanup runtime.Cleanup

	mu   sync.RWMutex // held for reading during each read
	data []byte       // nil when closed
	own  *os.File     // /proc/self/mem
}

func newMapped(file *os.File, size int64) (*mapped, error) {
	if size <= 0 || size > math.MaxInt {
		return nil, io.EOF
	}
	own, err := ownMemory.take()
	if err != nil {
		return nil, err
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		ownMemory.drop()
		return nil, err
	}
	m := &mapped{data: data, own: own}
	m.cleanup = runtime.AddCleanup(m, unmap, data)
	return m, nil
}

func unmap(data []byte) {
	syscall.Munmap(data)
	ownMemory.drop()
}

// ReadAt reads all of b, or returns an error.
func (m *mapped) ReadAt(b []byte, off int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case m.data == nil:
		return 0, os.ErrClosed
	case off < 0 || off > int64(len(m.data)) || len(b) > len(m.data)-int(off):
		return 0, io.EOF
	}
	return m.own.ReadAt(b, int64(uintptr(unsafe.Pointer(unsafe.SliceData(m.data))))+off)
}

// Close unmaps the file. If a read is under way, which may hang in its file system for ever, the runtime unmaps it
// later.
func (m *mapped) Close() error {
	if !m.mu.TryLock() {
		return nil
	}
	defer m.mu.Unlock()
	if m.data != nil {
		m.cleanup.Stop()
		unmap(m.data)
		m.data = nil
	}
	return nil
}

// ownMemory is the descriptor through which all mappings are read.
var ownMemory sharedMemory

// sharedMemory is /proc/self/mem, open while it is used.
type sharedMemory struct {
	mu    sync.Mutex
	users int
	file  *os.File
}

func (s *sharedMemory) take() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		f, err := os.Open("/proc/self/mem")
		if err != nil {
			return nil, err
		}
		s.file = f
	}
	s.users++
	return s.file, nil
}

func (s *sharedMemory) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		s.file.Close()
		s.file = nil
	}
}
