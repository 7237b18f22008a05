package ptrace

import (
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/machine"
)

// The system calls that the C library makes for epoll_wait and poll.
const (
	sysEpollWait = unix.SYS_EPOLL_WAIT
	sysPoll      = unix.SYS_POLL
)

// restartedAt is how far in front of its return address a thread is whose system call a stop has interrupted and will restart.
const restartedAt = 0

// trapCode is the si_code of a trap's SIGTRAP.
const trapCode = SIKernel

// TestRestartNeedsACall: there is nothing to restart outside a system call, and in code that is not a program's.
func TestRestartNeedsACall(t *testing.T) {
	const user64 = 0x33 // code segment
	for name, own := range map[string]machine.Regs{
		"no call": {OrigRax: ^uint64(0), Cs: user64, Rip: 100},
		"kernel":  {OrigRax: 7, Cs: 0x10, Rip: 100},
	} {
		r := Regs{own}
		before := r
		if r.RestartSyscall() || r != before {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := Regs{machine.Regs{OrigRax: 7, Cs: user64, Rip: 100, Rax: uint64(1<<64 - 4)}}
	before := r
	if !r.RestartSyscall() || !r.AtSyscall(98, 7) {
		t.Errorf("restarted: %+v", r)
	}
	if r.FinishSyscall(returnsForGood); r != before {
		t.Errorf("undone: %+v, want %+v", r, before)
	}
}
