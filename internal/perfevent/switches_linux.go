package perfevent

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// switches are words of memory that a program looks at: the first is for all links, the
// others for one each. Any goroutine may call.
type switches struct {
	mu    sync.Mutex
	mem   []byte // nil when closed: what was switched off stays so
	taken [numSwitches]bool
	last  int // the word that was taken last
}

const (
	numSwitches = 1 << 12
	cookieAddr  = 48 // bits of a cookie that are the address; the others are the switch
)

// cookie is what the program learns of a link.
func cookie(addr uint64, word int) uint64 { return addr&(1<<cookieAddr-1) | uint64(word)<<cookieAddr }

// take returns a word that no link has, and none has had for as long as possible: a process that was forked off this program
// keeps links that are closed until its execve, and they go by their word still.
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

// put gives a word back, turned off.
func (s *switches) put(word int) {
	s.set(word, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[word] = false
}

// set turns a switch.
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

// close gives the memory back. The program, as long as there is one, keeps its own.
func (s *switches) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem != nil {
		unix.Munmap(s.mem)
		s.mem = nil
	}
}
