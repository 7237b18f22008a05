package ptrace

import "encoding/binary"

// CallRestart is the number of restart_syscall(2), by which the kernel goes on with a call that a
// stop has cut, with the time that was left. A thread that any tracer has let go of in poll or
// nanosleep waits in it.
const CallRestart = 219

// CallLength is how many bytes in front of a program counter RestartedCall looks at, and
// CallWindow how many in all.
const (
	CallLength = 7
	CallWindow = CallLength + SyscallLength
)

// RestartedCall returns the number of the call that a thread in restart_syscall has begun with.
// The code is what is in memory from CallLength bytes before its program counter on, CallWindow
// bytes or as many as can be read. Only mov $number,%eax; syscall is understood, as compilers and
// libraries write it; the kernel, or RestartSyscall, may have moved the thread in front of the
// system call instruction.
func RestartedCall(code []byte) (nr int64, ok bool) {
	for end := CallLength; end <= CallWindow && end <= len(code); end += SyscallLength {
		c := code[end-CallLength : end]
		if c[0] == 0xb8 && c[5] == 0x0f && c[6] == 0x05 {
			return int64(binary.LittleEndian.Uint32(c[1:])), true
		}
	}
	return 0, false
}
