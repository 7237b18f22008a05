package sample

import "encoding/binary"

// restartSyscall is the call by which the kernel goes on with one that an
// interrupt has cut, with the time that was left (restart_syscall(2)). A thread
// that any tracer has let go of in poll or nanosleep waits in it.
const restartSyscall = 219

// restarted returns the number of the call that a thread in restartSyscall, at pc
// with stack pointer sp, has begun with: the one it was seen in at the same place,
// or the one that the code in front of pc asks for. If neither is known it is
// restartSyscall.
func (p *process) restarted(t *thread, pc, sp uint64) int64 {
	if t.call.SP == sp && t.call.Nr > 0 && (t.call.PC == pc || t.call.PC == pc+2) {
		return t.call.Nr
	}
	// The kernel, or a controller, may have moved the thread in front of the
	// system call instruction.
	var code [callLength + 2]byte
	n := p.image.ReadStack(code[:], pc-callLength)
	if n < callLength {
		return restartSyscall
	}
	if nr, ok := callBefore(code[:callLength]); ok {
		return nr
	}
	if n == len(code) {
		if nr, ok := callBefore(code[2:]); ok {
			return nr
		}
	}
	return restartSyscall
}

// callLength is the length of what callBefore reads.
const callLength = 7

// callBefore returns the number of the system call that x86-64 code ends with, if
// it is mov eax, number; syscall, as compilers and libraries write it.
func callBefore(code []byte) (nr int64, ok bool) {
	if code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05 {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint32(code[1:])), true
}
