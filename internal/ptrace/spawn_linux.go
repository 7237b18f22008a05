package ptrace

import "golang.org/x/sys/unix"

// Spawn makes a thread that the Go runtime does not know. It reports whether the thread was made. The
// thread shares everything with the calling one, has a stack that ends below the given address, and runs
// the function at pc. The function has no arguments, never returns, and calls nothing that needs a
// goroutine. The thread starts with the caller's signal mask.
//
//go:norace
//go:nosplit
//go:nocheckptr
func Spawn(stack, pc uintptr) bool {
	const flags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM
	return int(cloneThread(flags, stack&^15, pc)) > 0
}

func cloneThread(flags, stack, pc uintptr) (tid uintptr)
