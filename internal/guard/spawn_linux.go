package guard

import (
	"unsafe"

	"ptools/internal/ptrace"
)

// What the threads of the guard process but the first find: the address of the shared memory, which
// is no pointer because storing one might call the garbage collector, which is not there; and their
// stacks, each at the index of its pair. What only makes system calls needs some hundred bytes.
var (
	wordsAddr uintptr
	stacks    [mostPairs][8 << 10]byte
)

// spawn makes the threads of the guard process for all pairs but the first, as many as can be had.
//
//go:norace
//go:nosplit
//go:nocheckptr
func spawn(words []uint64) {
	wordsAddr = uintptr(unsafe.Pointer(&words[0]))
	f := enter
	for i := 1; i < int(words[pairsWord]); i++ {
		if !ptrace.Spawn(uintptr(unsafe.Pointer(&stacks[i]))+unsafe.Sizeof(stacks[i]), **(**uintptr)(unsafe.Pointer(&f))) {
			ready(pair(words, i)) // no thread is to wait for it
		}
	}
}

// enter is where a thread begins. It has no arguments, so that it can be called by its address: a
// call by name from assembly is led through code that tells the race detector, which is not there
// either.
//
//go:norace
//go:nosplit
//go:nocheckptr
func enter() {
	var here byte
	i := (uintptr(unsafe.Pointer(&here)) - uintptr(unsafe.Pointer(&stacks))) / unsafe.Sizeof(stacks[0])
	words := *(**uint64)(unsafe.Pointer(&wordsAddr))
	watchOver(unsafe.Slice(words, ledgerSize/8), int(i))
}
