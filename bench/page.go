package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// page is the memory that a target shares with us; internal/ptest/testdata/ptest.h has the layout.
type page struct{ bytes []byte }

// The words of the page.
const (
	wordWork   = 0
	wordGap    = 1
	wordEINTR  = 2
	wordShares = 16

	pageSize = 4096
)

// newPage makes a page in a file that does not exist yet.
func newPage(path string) (*page, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(pageSize); err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return &page{b}, nil
}

func (p *page) close() { syscall.Munmap(p.bytes) }

func (p *page) word(i int) *uint64 { return (*uint64)(unsafe.Pointer(&p.bytes[8*i])) }

// work is how many units of work the target has done.
func (p *page) work() uint64 { return atomic.LoadUint64(p.word(wordWork)) }

// eintr is how many system calls of the target have returned EINTR.
func (p *page) eintr() uint64 { return atomic.LoadUint64(p.word(wordEINTR)) }

// share is the CPU time, in nanoseconds, of the target's part i.
func (p *page) share(i int) uint64 { return atomic.LoadUint64(p.word(wordShares + i)) }

// takeGap returns the longest time since the last call that a spinning thread did not run.
func (p *page) takeGap() time.Duration { return time.Duration(atomic.SwapUint64(p.word(wordGap), 0)) }
