package ptrace

import "encoding/binary"

// CallRestart is the number of restart_syscall(2). By it the kernel continues a call that a stop
// has interrupted, with the time that was left. A thread in poll or nanosleep that any tracer has
// detached waits in it.
const CallRestart = 219

// CallLength is how many bytes in front of a program counter RestartedCall looks at.
// CallWindow is how many it looks at in all.
const (
	CallLength = 7
	CallWindow = CallLength + SyscallLength
)

// RestartedCall returns the number of the original call of a thread in restart_syscall. code is
// the memory from CallLength bytes before the program counter on: CallWindow bytes, or as many as
// can be read. Only mov $number,%eax; syscall is recognized, as compilers and libraries write it.
// The kernel, or RestartSyscall, may have moved the thread in front of the system call instruction.
func RestartedCall(code []byte) (nr int64, ok bool) {
	for end := CallLength; end <= CallWindow && end <= len(code); end += SyscallLength {
		c := code[end-CallLength : end]
		if c[0] == 0xb8 && c[5] == 0x0f && c[6] == 0x05 {
			return int64(binary.LittleEndian.Uint32(c[1:])), true
		}
	}
	return 0, false
}
