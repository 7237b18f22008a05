package ptrace

import "ptools/internal/a64"

// CallRestart is the number of restart_syscall(2). By it the kernel continues a call that a stop
// has interrupted, with the time that was left. A thread in poll or nanosleep that any tracer has
// detached waits in it.
const CallRestart = 128

// CallLength is how many bytes in front of a program counter RestartedCall looks at.
// CallWindow is how many it looks at in all.
const (
	CallLength = 2 * a64.Size
	CallWindow = CallLength + SyscallLength
)

// RestartedCall returns the number of the original call of a thread in restart_syscall. code is
// the memory from CallLength bytes before the program counter on: CallWindow bytes, or as many as
// can be read. Only mov x8, #number; svc #0 is recognized, as compilers and libraries write it.
// The kernel may have moved the thread in front of the system call instruction.
func RestartedCall(code []byte) (nr int64, ok bool) {
	for end := CallLength; end <= CallWindow && end <= len(code); end += SyscallLength {
		if nr, ok := SyscallBefore((*[SyscallCode]byte)(code[end-CallLength:])); ok {
			return nr, true
		}
	}
	return 0, false
}
