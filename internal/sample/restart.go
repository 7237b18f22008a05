package sample

import "ptools/internal/ptrace"

// restartSyscall is the call by which the kernel continues an interrupted
// system call with its remaining time (restart_syscall(2)). A thread waits in
// it if any tracer has stopped and resumed it in poll or nanosleep.
const restartSyscall = ptrace.CallRestart

// restarted returns the number of the original call of a thread in restartSyscall,
// at pc with stack pointer sp. That is the call in which the thread was seen at
// the same place, or the call that the code in front of pc makes. If neither is
// known, restarted returns restartSyscall.
func (o *outside) restarted(t *thread, pc, sp uint64) int64 {
	if o.p.image.Is32Bit() {
		return restartSyscall // the number is that of another call there
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
