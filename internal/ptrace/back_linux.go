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

// stop classifies the result of waitid; KindNone if there was none.
func (w *waitInfo) stop() Stop {
	if w.pid == 0 {
		return Stop{}
	}
	return decodeInfo(int(w.pid), w.code, uint32(w.status))
}

// PeekWaitBack is PeekWait for a tracer that has traps in its tracees. rules are in the order of After.
// The program counters of threads whose stop matches a rule are set back, and their wait statuses are
// consumed: if the tracer is killed from then on, those threads lose nothing. There are n of them in
// backs, with their registers. If there are none, another wait status is looked at. After a wait all
// this is done on the way out of the system call. The runtime may take tens of microseconds until Go
// code runs again, in which it wakes other threads.
func PeekWaitBack(rules []SetBack, backs []Back, block bool) (s Stop, n int, err error) {
	var w waitInfo
	var info SigInfo
	var e syscall.Errno
	if block {
		n, e = sleepBack(&w, &info, rules, backs)
	} else {
		n, e = waitBack(&w, &info, rules, backs, unix.WNOHANG)
	}
	switch {
	case n > 0:
		return Stop{}, n, nil
	case e != 0:
		return Stop{}, 0, e
	}
	return w.stop(), 0, nil
}

//go:norace
//go:nosplit
//go:nocheckptr
func sleepBack(w *waitInfo, info *SigInfo, rules []SetBack, backs []Back) (n int, e syscall.Errno) {
	entersyscall()
	n, e = waitBack(w, info, rules, backs, 0)
	exitsyscall()
	return n, e
}

// waitBack waits for one wait status, and looks for more as long as threads are set back.
//
//go:norace
//go:nosplit
//go:nocheckptr
func waitBack(w *waitInfo, info *SigInfo, rules []SetBack, backs []Back, flags uintptr) (n int, e syscall.Errno) {
	flags |= unix.WEXITED | unix.WSTOPPED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD
	for {
		_, _, e = syscall.RawSyscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(w)), flags, 0, 0)
		if e != 0 || w.pid == 0 || w.code != cldTrapped || w.status != int32(unix.SIGTRAP) || n == len(backs) {
			return n, e
		}
		if !setBack(uintptr(w.pid), info, rules, &backs[n]) {
			return n, e
		}
		if n++; n == len(backs) {
			return n, e
		}
		flags |= unix.WNOHANG
	}
}

// cldTrapped is the si_code of a ptrace stop.
const cldTrapped = 4

// setBack sets a thread back if its stop matches one of rules, and consumes its wait status.
//
//go:norace
//go:nosplit
//go:nocheckptr
func setBack(tid uintptr, info *SigInfo, rules []SetBack, b *Back) bool {
	r := &b.Regs
	pc, ok := rawRegs(tid, r)
	if !ok {
		return false
	}
	i := search(rules, pc)
	if i == len(rules) || rules[i].After != pc {
		return false
	}
	rule := &rules[i]
	if rule.Code != 0 {
		_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(info)), 0, 0)
		if e != 0 || info.Code != rule.Code {
			return false // a signal from outside
		}
	}
	if !rawMove(tid, r, rule.To) {
		return false
	}
	b.TID, b.After = int(tid), rule.After
	syscall.RawSyscall6(unix.SYS_WAIT4, tid, 0, unix.WALL|unix.WNOHANG, 0, 0, 0) // or it was killed
	return true
}

// search returns the index of the first rule whose After is not below pc.
//
//go:norace
//go:nosplit
func search(rules []SetBack, pc uint64) int {
	low, high := 0, len(rules)
	for low < high {
		middle := int(uint(low+high) / 2)
		if rules[middle].After < pc {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
