package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:linkname entersyscall runtime.entersyscall
//go:nosplit
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
//go:nosplit
func exitsyscall()

// waitInfo is the siginfo_t that waitid(2) writes.
type waitInfo struct {
	signo, errno, code int32
	_                  int32
	pid, uid, status   int32
	_                  [100]byte
}

// stop classifies what waitid says; KindNone if there was nothing.
func (w *waitInfo) stop() Stop {
	if w.pid == 0 {
		return Stop{}
	}
	return decodeInfo(int(w.pid), w.code, uint32(w.status))
}

// PeekWaitBack is PeekWait for a tracer that has int3s in its tracees, in the order of their addresses.
// A thread that was stopped by one of them has its program counter set back in front of it, and its
// report is read, which Stop.Back tells; r has the registers then. If the tracer is killed from then on
// the thread loses nothing. After a wait this is done on the way out of the system call, since it may
// take the runtime tens of microseconds, in which it wakes other threads, until Go code runs again.
func PeekWaitBack(int3s []Int3, r *Regs, block bool) (Stop, error) {
	var w waitInfo
	var info SigInfo
	var back bool
	var e syscall.Errno
	if block {
		back, e = sleepBack(&w, &info, int3s, r)
	} else {
		back, e = waitBack(&w, &info, int3s, r, unix.WNOHANG)
	}
	if e != 0 {
		return Stop{}, e
	}
	s := w.stop()
	s.Back = back
	return s, nil
}

//go:norace
//go:nosplit
//go:nocheckptr
func sleepBack(w *waitInfo, info *SigInfo, int3s []Int3, r *Regs) (back bool, e syscall.Errno) {
	entersyscall()
	back, e = waitBack(w, info, int3s, r, 0)
	exitsyscall()
	return back, e
}

//go:norace
//go:nosplit
//go:nocheckptr
func waitBack(w *waitInfo, info *SigInfo, int3s []Int3, r *Regs, flags uintptr) (back bool, e syscall.Errno) {
	flags |= unix.WEXITED | unix.WSTOPPED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD
	_, _, e = syscall.RawSyscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(w)), flags, 0, 0)
	if e == 0 && w.pid != 0 && w.code == cldTrapped && w.status == int32(unix.SIGTRAP) {
		back = setBack(uintptr(w.pid), info, int3s, r)
	}
	return back, e
}

// cldTrapped is the code of a ptrace stop.
const cldTrapped = 4

// setBack sets a thread back that has executed one of int3s, and reads its report.
//
//go:norace
//go:nosplit
//go:nocheckptr
func setBack(tid uintptr, info *SigInfo, int3s []Int3, r *Regs) bool {
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGS, tid, 0, uintptr(unsafe.Pointer(r)), 0, 0)
	if e != 0 {
		return false
	}
	at := r.Rip - 1
	i := search(int3s, at)
	if i == len(int3s) || int3s[i].Addr != at {
		return false
	}
	if !int3s[i].Long {
		_, _, e = syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(info)), 0, 0)
		if e != 0 || info.Code != SIKernel {
			return false // somebody's signal
		}
	}
	_, _, e = syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_POKEUSR, tid, unsafe.Offsetof(r.Rip), uintptr(at), 0, 0)
	if e != 0 {
		return false
	}
	r.Rip = at
	syscall.RawSyscall6(unix.SYS_WAIT4, tid, 0, unix.WALL|unix.WNOHANG, 0, 0, 0) // or it was killed
	return true
}

// search returns the index of the first int3 that is not below addr.
//
//go:norace
//go:nosplit
func search(int3s []Int3, addr uint64) int {
	low, high := 0, len(int3s)
	for low < high {
		middle := int(uint(low+high) / 2)
		if int3s[middle].Addr < addr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
