package perfevent

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// switches are words of memory that a program reads. The first word is for all links, each
// other word for one link. The methods may be called from any goroutine.
type switches struct {
	mu    sync.Mutex
	mem   []byte // nil when closed: what was switched off stays so
	taken [numSwitches]bool
	last  int // the word that was taken last
}

const (
	numSwitches = 1 << 12
	cookieAddr  = 48 // the bits of a cookie that are the address; the others are the number of the word
)

// cookie is what the program knows of a link.
func cookie(addr uint64, word int) uint64 { return addr&(1<<cookieAddr-1) | uint64(word)<<cookieAddr }

// take returns the number of a word that no link has, and that no link has had for as long as possible: a process that
// was forked off this program keeps closed links until its execve, and these still obey their word.
func (s *switches) take() (word int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range numSwitches - 1 {
		if s.last = s.last%(numSwitches-1) + 1; !s.taken[s.last] {
			s.taken[s.last] = true
			return s.last, nil
		}
	}
	return 0, unix.EMFILE
}

// put switches a word off, and gives it back.
func (s *switches) put(word int) {
	s.set(word, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[word] = false
}

// set switches a word on or off.
func (s *switches) set(word int, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil {
		return
	}
	var value uint64
	if on {
		value = 1
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&s.mem[8*word])), value)
}

// close gives the memory back. The program, as long as it exists, keeps its own reference.
func (s *switches) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem != nil {
		unix.Munmap(s.mem)
		s.mem = nil
	}
}
