package control

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

// calls are the system calls that stops of ours interrupt.
type calls struct{ g *tracees }

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
func (k *calls) clearError(t *thread, result int64) {
	args := t.regs.SyscallArgs()
	if result <= 0 || result >= int64(args[messagesArg]) {
		return
	}
	s, err := procfs.OpenSocket(k.g.pidOf(t), int(int32(args[0])))
	if err != nil {
		return
	}
	defer s.Close()
	_, _ = s.TakeError() // what ended it was the stop; another error just then would be lost
}

// again reports whether a call with this result is made again.
func again(nr, result int64) bool { return result == -int64(syscall.EINTR) && nr != closing }

// rewind moves a thread back that our stop made return EINTR.
func (k *calls) rewind(t *thread) {
	if k.g.loadRegs(t) != nil || t.rewound.pc != 0 && t.regs.AtSyscall(t.rewound.pc, t.rewound.nr) {
		return // has not run since it was moved back
	}
	t.rewound = rewound{}
	nr, result, ok := t.regs.SyscallReturn()
	if !ok {
		return
	}
	if t.regs.Is32Bit() {
		k.rewind32(t, nr, result)
		return
	}
	if nr == recvmmsg {
		k.clearError(t, result)
	}
	if !again(nr, result) {
		return
	}
	args := t.regs.SyscallArgs()
	if !t.regs.RestartSyscall() {
		return
	}
	t.known = regsChanged
	t.rewound = rewound{pc: t.regs.PC(), nr: nr}
	k.noteTimeout(t, nr, args)
}

// closing32 is close(2) of 32-bit code.
const closing32 = 6

// rewind32 is rewind for 32-bit code. The call is given its full time.
func (k *calls) rewind32(t *thread, nr, result int64) {
	t.call = blockedCall{}
	if nr == closing32 || result != -int64(syscall.EINTR) || !t.regs.RestartSyscall() {
		return
	}
	t.known = regsChanged
	t.rewound = rewound{pc: t.regs.PC(), nr: nr}
}

// undoRewind gives a thread its EINTR back if a signal reaches it before it has made
// the call again.
func (k *calls) undoRewind(t *thread) {
	r := t.rewound
	t.rewound = rewound{}
	if r.pc == 0 || k.g.loadRegs(t) != nil || !t.regs.AtSyscall(r.pc, r.nr) {
		return
	}
	t.regs.FinishSyscall(-int64(syscall.EINTR))
	t.call.takeBack(&t.regs)
	t.known = regsChanged
}

// wouldIgnore reports whether the target would not have noticed the signal if it
// were not traced. The kernel reports ignored signals to a tracer and wakes the
// thread for them.
func (k *calls) wouldIgnore(t *thread, sig syscall.Signal) bool {
	if k.g.loadRegs(t) != nil {
		return false
	}
	if _, result, ok := t.regs.SyscallReturn(); !ok || result != -int64(syscall.EINTR) {
		return false // nothing was interrupted that the kernel will not restart
	}
	st, err := procfs.ReadTaskStatus(k.g.pidOf(t), t.tid)
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
