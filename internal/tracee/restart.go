package tracee

import (
	"syscall"

	"ptools/internal/procfs"
)

// The kernel restarts a system call that a tracer's stop has interrupted. A few calls
// are excepted, and return EINTR to the program whatever interrupted them
// (signal(7)): epoll_wait, semop, semtimedop, sigtimedwait, the socket calls with a
// timeout. The program must not notice a stop. So such a thread is moved back in front
// of its system call and makes it again. Two things need care:
//
//   - A signal of the target's own may reach the thread before it has made the call
//     again. It would have interrupted the first call, so the EINTR is put back. A
//     pending signal alone shows nothing: one for the process may go to any thread.
//   - A relative timeout would start again in full. The call is given what is left
//     (timeout.go).

// Calls are the system calls that stops of ours interrupt.
type Calls struct{ g *Group }

// closing is close(2), the one call that must not be made again. Whatever it returns,
// the descriptor is gone, and its number may belong to another file by now (filp_close in
// fs/open.c; a file system over the network or in user space can be interrupted there).
const closing = "close"

// If recvmmsg(2) has received messages before an error ends it, it leaves that error to the next call on
// the socket. It does so with the kernel's internal number for a restart as well. The program then gets
// that number, as errno 512 (do_recvmmsg in net/socket.c).
const (
	receiving   = "recvmmsg"
	messagesArg = 2
)

// clearError removes the error that our stop has left in a socket.
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
	_, _ = s.TakeError() // the stop has ended the call; another error of the same moment would be lost
}

// again reports whether a call with this result is made again.
func again(nr, result int64) bool {
	return result == -int64(syscall.EINTR) && procfs.SyscallName(nr) != closing
}

// Rewind moves a thread back in front of a system call that our stop made return EINTR.
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
	if procfs.SyscallName(nr) == receiving {
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

// rewind32 is Rewind for 32-bit code. The call is given its full time.
func (k *Calls) rewind32(t *Thread, nr, result int64) {
	t.call = blockedCall{}
	if nr == closing32 || result != -int64(syscall.EINTR) || !t.Regs.RestartSyscall() {
		return
	}
	t.Known = RegsChanged
	t.rewound = rewound{pc: t.Regs.PC(), nr: nr}
}

// UndoRewind makes the call return EINTR after all, if a signal reaches the thread before it
// has made the call again. It returns the address of the call then, and 0 otherwise.
func (k *Calls) UndoRewind(t *Thread) (pc uint64) {
	r := t.rewound
	t.rewound = rewound{}
	if r.pc == 0 || k.g.LoadRegs(t) != nil || !t.Regs.AtSyscall(r.pc, r.nr) {
		return 0
	}
	t.Regs.FinishSyscall(-int64(syscall.EINTR))
	t.call.takeBack(&t.Regs)
	t.Known = RegsChanged
	return r.pc
}

// WouldIgnore reports whether the target would not notice the signal if it were not
// traced. The kernel reports ignored signals to a tracer, and wakes the thread for that.
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
