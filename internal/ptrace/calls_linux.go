package ptrace

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported reports whether this platform has the calls of this package.
const Supported = true

// call makes a ptrace request that does not block. It does not notify the Go scheduler,
// because a request costs only a fraction of a microsecond.
func call(request, tid int, addr, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

// exchange is call for a request by which the kernel reads or writes memory of ours.
func exchange(request, tid int, addr uintptr, mem unsafe.Pointer) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, uintptr(mem), 0, 0); e != 0 {
		return e
	}
	return nil
}

// Seize makes the calling OS thread the tracer of thread tid without stopping it
// (PTRACE_SEIZE). It may sleep while the process of tid is in execve(2).
func Seize(tid int, o Options) error {
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, uintptr(o), 0, 0); e != 0 {
		return e
	}
	return nil
}

// SetOptions replaces the options of a stopped thread.
func SetOptions(tid int, o Options) error {
	return call(unix.PTRACE_SETOPTIONS, tid, 0, uintptr(o))
}

// Interrupt asks a running or listening thread to stop with KindEventStop. A thread
// that enters another stop first does not report this one (jobctl: any trap clears
// a pending stop trap).
func Interrupt(tid int) error { return call(unix.PTRACE_INTERRUPT, tid, 0, 0) }

// Cont resumes a stopped thread, delivering sig unless it is 0. If sig is the signal of
// the stop, the kernel delivers the siginfo of the stop with it.
func Cont(tid int, sig syscall.Signal) error {
	return call(unix.PTRACE_CONT, tid, 0, uintptr(sig))
}

// SingleStep resumes a stopped thread for one instruction.
func SingleStep(tid int, sig syscall.Signal) error {
	return call(unix.PTRACE_SINGLESTEP, tid, 0, uintptr(sig))
}

// Listen leaves a thread in its group stop. The thread then reports the end of the group stop.
func Listen(tid int) error { return call(unix.PTRACE_LISTEN, tid, 0, 0) }

// Detach ends the tracing of a stopped thread and resumes it, delivering sig unless
// it is 0. A thread in a group stop stays stopped.
func Detach(tid int, sig syscall.Signal) error {
	return call(unix.PTRACE_DETACH, tid, 0, uintptr(sig))
}

// EventMsg returns the number that belongs to the event a thread is stopped at.
func EventMsg(tid int) (msg uint64, err error) {
	err = exchange(unix.PTRACE_GETEVENTMSG, tid, 0, unsafe.Pointer(&msg))
	return msg, err
}

// GetSigInfo reads the siginfo of the stop a thread is in.
func GetSigInfo(tid int, si *SigInfo) error {
	return exchange(unix.PTRACE_GETSIGINFO, tid, 0, unsafe.Pointer(si))
}

// SetSigInfo replaces the siginfo that goes with the signal given to Cont.
func SetSigInfo(tid int, si *SigInfo) error {
	return exchange(unix.PTRACE_SETSIGINFO, tid, 0, unsafe.Pointer(si))
}

// SigMask reads the blocked signals of a stopped thread, bit n-1 for signal n.
func SigMask(tid int) (mask uint64, err error) {
	err = exchange(unix.PTRACE_GETSIGMASK, tid, 8, unsafe.Pointer(&mask))
	return mask, err
}

// SetSigMask replaces the blocked signals of a stopped thread.
func SetSigMask(tid int, mask uint64) error {
	return exchange(unix.PTRACE_SETSIGMASK, tid, 8, unsafe.Pointer(&mask))
}

// peekSigInfoArgs is struct ptrace_peeksiginfo_args.
type peekSigInfoArgs struct {
	off   uint64
	flags uint32
	nr    int32
}

// Pending reports whether sig is queued for the stopped thread itself (not for its
// process), by PTRACE_PEEKSIGINFO. The queue is left as it is.
func Pending(tid int, sig syscall.Signal) (bool, error) {
	var si [8]SigInfo
	for off := uint64(0); ; {
		a := peekSigInfoArgs{off: off, nr: int32(len(si))}
		n, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKSIGINFO, uintptr(tid), uintptr(unsafe.Pointer(&a)), uintptr(unsafe.Pointer(&si[0])), 0, 0)
		if e != 0 {
			return false, e
		}
		for i := range si[:n] {
			if si[i].Signo == int32(sig) {
				return true, nil
			}
		}
		if n < uintptr(len(si)) {
			return false, nil
		}
		off += uint64(n)
	}
}

// Wait returns the next wait status of a thread that the calling OS thread traces or has
// forked. With block it sleeps until there is one, or a signal handler has run (EINTR).
// Without block it returns KindNone if there is none. ECHILD: nothing is left to wait for.
func Wait(block bool) (Stop, error) { return wait(-1, unix.WALL|unix.WNOTHREAD, block) }

// WaitTID is Wait for one thread. Without block it may be called on any OS thread of
// the tracer's process. ECHILD: this thread does not trace it.
func WaitTID(tid int, block bool) (Stop, error) { return wait(tid, unix.WALL, block) }

func wait(which int, flags uintptr, block bool) (Stop, error) {
	var status int32
	var tid uintptr
	var e syscall.Errno
	if block {
		tid, _, e = unix.Syscall6(unix.SYS_WAIT4, uintptr(which), uintptr(unsafe.Pointer(&status)), flags, 0, 0, 0)
	} else {
		tid, _, e = unix.RawSyscall6(unix.SYS_WAIT4, uintptr(which), uintptr(unsafe.Pointer(&status)), flags|unix.WNOHANG, 0, 0, 0)
	}
	if e != 0 {
		return Stop{}, e
	}
	if tid == 0 {
		return Stop{}, nil
	}
	return Decode(int(tid), uint32(status)), nil
}

// PeekWait is Wait, but does not consume the wait status: this caller or another one can
// do so. The wait status of a stop need not be consumed: it is gone when the thread is resumed.
func PeekWait(block bool) (Stop, error) { return peek(unix.P_ALL, 0, unix.WNOTHREAD, block) }

// PeekTID is PeekWait for one thread.
func PeekTID(tid int, block bool) (Stop, error) { return peek(unix.P_PID, tid, 0, block) }

func peek(kind, id int, flags uintptr, block bool) (Stop, error) {
	var si waitInfo
	flags |= unix.WEXITED | unix.WSTOPPED | unix.WNOWAIT | unix.WALL
	var e syscall.Errno
	if block {
		_, _, e = unix.Syscall6(unix.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(&si)), flags, 0, 0)
	} else {
		_, _, e = unix.RawSyscall6(unix.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(&si)), flags|unix.WNOHANG, 0, 0)
	}
	if e != 0 {
		return Stop{}, e
	}
	return si.stop(), nil
}

// decodeInfo classifies the result of waitid(2), whose status is unpacked already.
func decodeInfo(tid int, code int32, status uint32) Stop {
	const cldExited, cldKilled, cldDumped = 1, 2, 3
	switch code {
	case cldExited:
		return Stop{TID: tid, Kind: KindExited, Code: int(status & 0xff)}
	case cldKilled, cldDumped:
		return Stop{TID: tid, Kind: KindKilled, Signal: syscall.Signal(status & 0x7f), Core: code == cldDumped}
	}
	return Decode(tid, 0x7f|status<<8)
}

// Nap sleeps for d. The error is EINTR if a signal handler has run meanwhile.
func Nap(d time.Duration) error {
	ts := unix.NsecToTimespec(int64(d))
	if _, _, e := unix.Syscall6(unix.SYS_PPOLL, 0, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// Kill sends sig to thread tid of process pid (tgkill(2)).
func Kill(pid, tid int, sig syscall.Signal) error {
	if _, _, e := unix.RawSyscall(unix.SYS_TGKILL, uintptr(pid), uintptr(tid), uintptr(sig)); e != 0 {
		return e
	}
	return nil
}

// ThreadID returns the TID of the calling OS thread.
func ThreadID() int {
	tid, _, _ := unix.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
	return int(tid)
}

// ProcessID returns the PID of this process, which is also the TID of its main
// thread.
func ProcessID() int {
	pid, _, _ := unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
	return int(pid)
}

// Reap waits for the end of child pid of the calling thread, and collects its exit status.
// The child has been told to end.
func Reap(pid int) {
	for {
		var status int32
		_, _, e := unix.Syscall6(unix.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&status)), unix.WALL, 0, 0, 0)
		if e != unix.EINTR {
			return
		}
	}
}

// AwaitEnd waits until child pid of the calling thread has ended. It does not collect the exit status.
func AwaitEnd(pid int) {
	const flags = unix.WEXITED | unix.WNOWAIT | unix.WNOTHREAD
	for {
		if _, _, e := unix.Syscall6(unix.SYS_WAITID, unix.P_PID, uintptr(pid), 0, flags, 0, 0); e != unix.EINTR {
			return
		}
	}
}

// HasChildren reports whether the calling OS thread has children or tracees.
func HasChildren() bool {
	flags := uintptr(unix.WEXITED | unix.WNOHANG | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD)
	_, _, e := unix.RawSyscall6(unix.SYS_WAITID, unix.P_ALL, 0, 0, flags, 0, 0)
	return e != unix.ECHILD
}

// An Exit waits for the end of one OS thread of this program.
type Exit struct{ tid, pidfd int }

// pidfdThread is PIDFD_THREAD (Linux 6.9): a descriptor for one thread.
const pidfdThread = unix.O_EXCL

// ThreadExit returns an Exit for the calling OS thread.
func ThreadExit() *Exit {
	e := &Exit{tid: ThreadID(), pidfd: -1}
	if fd, err := unix.PidfdOpen(e.tid, pidfdThread); err == nil {
		e.pidfd = fd
	}
	return e
}

// Wait returns when the thread has exited. The kernel has then detached all of its
// tracees. Wait is to be called once, from another thread. Without a descriptor to wait
// for, before Linux 6.9 or because too many are open, it polls for the thread: nothing
// else reports an end that comes after the tracees were detached.
func (e *Exit) Wait() {
	for e.pidfd < 0 {
		if Kill(ProcessID(), e.tid, 0) != nil {
			return
		}
		time.Sleep(20 * time.Microsecond)
	}
	fds := []unix.PollFd{{Fd: int32(e.pidfd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			break
		}
	}
	unix.Close(e.pidfd)
}
