package guard

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// The guard process begins with a copy of our memory. A page is copied when one of the two processes
// writes to it. The guard process gives what it does not need, above all the heap, back to the kernel at
// once. Otherwise it would keep the old copy of every page that we change.

const (
	mostDontNeed  = 200
	leastDontNeed = 1 << 20 // bytes: a smaller range is not worth a call
	nearStack     = 64 << 10
	madvDontNeed  = 4
)

// listDontNeed lists the large ranges of private memory without a file. A list that is too long
// is cut.
func listDontNeed(words []uint64) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return // it costs memory
	}
	n := 0
	for line := range strings.Lines(string(maps)) {
		var start, end, off, inode uint64
		var perms, dev string
		if _, err := fmt.Sscanf(line, "%x-%x %s %x %s %d", &start, &end, &perms, &off, &dev, &inode); err != nil {
			continue
		}
		if inode == 0 && strings.HasPrefix(perms, "rw-p") && end-start >= leastDontNeed && n < mostDontNeed {
			words[dontNeedWord+2*n], words[dontNeedWord+2*n+1] = start, end
			n++
		}
	}
	words[dontNeedWord+2*n] = 0
}

// dontNeed gives the ranges back, except for what is near an address in the caller's stack: Go's
// stacks are in its heap.
//
//go:norace
//go:nosplit
//go:nocheckptr
func dontNeed(words []uint64, stack uintptr) {
	for w := words[dontNeedWord:]; w[0] != 0; w = w[2:] {
		start, end := uintptr(w[0]), uintptr(w[1])
		below, above := (stack-nearStack)&^4095, (stack+nearStack)&^4095
		if end <= below || start >= above {
			raw(syscall.SYS_MADVISE, start, end-start, madvDontNeed, 0)
			continue
		}
		if start < below {
			raw(syscall.SYS_MADVISE, start, below-start, madvDontNeed, 0)
		}
		if end > above {
			raw(syscall.SYS_MADVISE, above, end-above, madvDontNeed, 0)
		}
	}
}
