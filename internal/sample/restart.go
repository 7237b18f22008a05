package sample

import "ptools/internal/ptrace"

// restartSyscall is the call by which the kernel goes on with one that an
// interrupt has cut, with the time that was left (restart_syscall(2)). A thread
// that any tracer has let go of in poll or nanosleep waits in it.
const restartSyscall = ptrace.CallRestart

// restarted returns the number of the call that a thread in restartSyscall, at pc
// with stack pointer sp, has begun with: the one it was seen in at the same place,
// or the one that the code in front of pc asks for. If neither is known it is
// restartSyscall.
func (o *outside) restarted(t *thread, pc, sp uint64) int64 {
	if o.p.image.Is32Bit() {
		return restartSyscall // it is another call there
	}
	if t.blocked.call.SP == sp && t.blocked.call.Nr > 0 && (t.blocked.call.PC == pc || t.blocked.call.PC == pc+2) {
		return t.blocked.call.Nr
	}
	var code [ptrace.CallWindow]byte
	n := o.p.image.ReadStack(code[:], pc-ptrace.CallLength)
	if nr, ok := ptrace.RestartedCall(code[:n]); ok {
		return nr
	}
	return restartSyscall
}
