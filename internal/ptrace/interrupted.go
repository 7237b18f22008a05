package ptrace

// InterruptedResult reports whether a signal or a stop has interrupted a system call, by its result at a stop:
// EINTR, or one of the kernel's codes for the ways of a syscall restart (include/linux/errno.h).
func InterruptedResult(result int64) bool {
	switch -result {
	case eRestartSys, eRestartNoIntr, eRestartNoHand, eRestartBlock, eIntr:
		return true
	}
	return false
}

// RestartBlock is ERESTART_RESTARTBLOCK, negated in the result of a call that restart_syscall(2) will continue.
const RestartBlock = 516

const (
	eIntr          = 4
	eRestartSys    = 512
	eRestartNoIntr = 513
	eRestartNoHand = 514
	eRestartBlock  = RestartBlock
)
