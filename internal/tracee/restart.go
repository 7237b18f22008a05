package tracee

import (
	"syscall"

	"ptools/internal/procfs"
)

// A system call that is interrupted by a tracer's stop is restarted by the kernel,
// except for a few that return EINTR to the program whatever interrupted them
// (signal(7)): epoll_wait, semop, semtimedop, sigtimedwait, the socket calls with a
// timeout. A program that is being looked at must not notice, so such a thread is
// moved back in front of its system call and makes it again. Two things need care:
//
//   - A signal of the target's own that reaches the thread before it has made the call
//     again would have interrupted the first one. Then the EINTR is put back. That a
//     signal is pending says nothing: one for the process may go to any thread.
//   - A relative timeout would start again from full. The call is given what is left
//     (timeout.go).

// Calls are the system calls that stops of ours interrupt.
type Calls struct{ g *Group }

// closing is close(2), the one call that must not be made again: whatever it returns
// the descriptor is gone, and its number may be another file's by now (filp_close in
// fs/open.c; a file system over the network or in user space can be interrupted there).
const closing = 3

// recvmmsg(2) leaves the error that has ended it to the next call on the socket, if it has received
// anything before. It does so with the number by which the kernel restarts calls, which then comes
// to the program, as errno 512 (do_recvmmsg in net/socket.c).
const (
	recvmmsg    = 299
	messagesArg = 2
)

// clearError takes the error that our stop has left behind out of a socket.
func (k *Calls) clearError(t *Thread, result int64) {
	args := t.Regs.SyscallArgs()
	if result <= 0 || result >= int64(args[messagesArg]) {
		return
	}
	s, err := procfs.OpenSocket(k.g.PIDOf(t), int(int32(args[0])))
	if err != nil {
		return
	}
	defer s.Close()
	_, _ = s.TakeError() // what ended it was the stop; another error just then would be lost
}

// again reports whether a call with this result is made again.
func again(nr, result int64) bool { return result == -int64(syscall.EINTR) && nr != closing }

// Rewind moves a thread back that our stop made return EINTR.
func (k *Calls) Rewind(t *Thread) {
	if k.g.LoadRegs(t) != nil || t.rewound.pc != 0 && t.Regs.AtSyscall(t.rewound.pc, t.rewound.nr) {
		return // has not run since it was moved back
	}
	t.rewound = rewound{}
	nr, result, ok := t.Regs.SyscallReturn()
	if !ok {
		return
	}
	if t.Regs.Is32Bit() {
		k.rewind32(t, nr, result)
		return
	}
	if nr == recvmmsg {
		k.clearError(t, result)
	}
	if !again(nr, result) {
		return
	}
	args := t.Regs.SyscallArgs()
	if !t.Regs.RestartSyscall() {
		return
	}
	t.Known = RegsChanged
	t.rewound = rewound{pc: t.Regs.PC(), nr: nr}
	k.noteTimeout(t, nr, args)
}

// closing32 is close(2) of 32-bit code.
const closing32 = 6

// rewind32 is rewind for 32-bit code. The call is given its full time.
func (k *Calls) rewind32(t *Thread, nr, result int64) {
	t.call = blockedCall{}
	if nr == closing32 || result != -int64(syscall.EINTR) || !t.Regs.RestartSyscall() {
		return
	}
	t.Known = RegsChanged
	t.rewound = rewound{pc: t.Regs.PC(), nr: nr}
}

// UndoRewind gives a thread its EINTR back if a signal reaches it before it has made
// the call again.
func (k *Calls) UndoRewind(t *Thread) {
	r := t.rewound
	t.rewound = rewound{}
	if r.pc == 0 || k.g.LoadRegs(t) != nil || !t.Regs.AtSyscall(r.pc, r.nr) {
		return
	}
	t.Regs.FinishSyscall(-int64(syscall.EINTR))
	t.call.takeBack(&t.Regs)
	t.Known = RegsChanged
}

// WouldIgnore reports whether the target would not have noticed the signal if it
// were not traced. The kernel reports ignored signals to a tracer and wakes the
// thread for them.
func (k *Calls) WouldIgnore(t *Thread, sig syscall.Signal) bool {
	if k.g.LoadRegs(t) != nil {
		return false
	}
	if _, result, ok := t.Regs.SyscallReturn(); !ok || result != -int64(syscall.EINTR) {
		return false // nothing was interrupted that the kernel will not restart
	}
	st, err := procfs.ReadTaskStatus(k.g.PIDOf(t), t.TID)
	if err != nil {
		return false
	}
	bit := uint64(1) << (sig - 1)
	if st.SigIgn&bit != 0 {
		return true
	}
	switch sig {
	case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGCONT:
		return st.SigCgt&bit == 0
	}
	return false
}
