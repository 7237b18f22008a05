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
}

const (
	numSwitches = wordsSize / 8
	cookieAddr  = 48 // bits of a cookie that are the address; the others are the switch
)

// cookie is what the program learns of a link.
func cookie(addr uint64, word int) uint64 { return addr&(1<<cookieAddr-1) | uint64(word)<<cookieAddr }

// take returns a word that no link has.
func (s *switches) take() (word int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 1; i < numSwitches; i++ {
		if !s.taken[i] {
			s.taken[i] = true
			return i, nil
		}
	}
	return 0, unix.EMFILE
}

// put gives a word back.
func (s *switches) put(word int) {
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
