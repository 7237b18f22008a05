package guard

import (
	"unsafe"

	"ptools/internal/ptrace"
)

// What the threads of the guard process use, except the first: the address of the shared memory, and
// their stacks, each at the index of its pair. The address is no pointer: storing a pointer might call
// the garbage collector, which does not exist here. A thread that only makes system calls needs some
// hundred bytes of stack.
var (
	wordsAddr uintptr
	stacks    [mostPairs][8 << 10]byte
)

// spawn makes the threads of the guard process for all pairs except the first, as many as can be made.
//
//go:norace
//go:nosplit
//go:nocheckptr
func spawn(words []uint64) {
	wordsAddr = uintptr(unsafe.Pointer(&words[0]))
	f := enter
	for i := 1; i < int(words[pairsWord]); i++ {
		if !ptrace.Spawn(uintptr(unsafe.Pointer(&stacks[i]))+unsafe.Sizeof(stacks[i]), **(**uintptr)(unsafe.Pointer(&f))) {
			ready(pair(words, i)) // no thread must wait for it
		}
	}
}

// enter is the first function of a thread. It has no arguments, so that it can be called by its address.
// A call by name from assembly would go through code of the race detector, which does not exist here
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
