package pctl

import (
	"io"

	"ptools/internal/futex"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// waitCall is a system call that can wait for something that has a name.
type waitCall struct {
	tell   func(*asked)                 // sets the Wait
	points func(args [6]uint64) []piece // the memory that tell needs; nil: none
}

// A piece is a piece of memory that an argument points to.
type piece struct {
	addr uint64
	size int
}

// waitCalls are the system calls that can wait. Calls that only wait for a disk, such as pread64 and fsync, are not among
// them: threads in those cannot be stopped, and show no registers (Unstoppable). Nor is the parent in vfork(2), for the same
// reason. TestEveryWait has a thread in each.
var waitCalls = map[string]waitCall{
	"read": reads(0), "readv": reads(0), "preadv2": reads(0),
	"recvfrom": reads(0), "recvmsg": reads(0), "recvmmsg": reads(0), "accept": reads(0), "accept4": reads(0),
	"mq_timedreceive": reads(0),
	"write":           writes(0), "writev": writes(0), "pwritev2": writes(0),
	"sendto": writes(0), "sendmsg": writes(0), "sendmmsg": writes(0), "connect": writes(0), "sendfile": writes(0),
	"vmsplice": writes(0), "mq_timedsend": writes(0),
	"splice": {tell: moves(0, 2)}, "tee": {tell: moves(0, 1)},

	"poll": {tellPoll(2, -1), pollMemory(-1)}, "ppoll": {tellPoll(-1, 2), pollMemory(2)},
	"select": {tellSelect, selectMemory}, "pselect6": {tellSelect, selectMemory},
	"epoll_wait": {tell: tellEpoll(3, -1)}, "epoll_pwait": {tell: tellEpoll(3, -1)}, "epoll_pwait2": {tellEpoll(-1, 3), timeAt(3)},
	"io_uring_enter": {tell: tellRing}, "io_getevents": {tellAIO, timeAt(4)}, "io_pgetevents": {tellAIO, timeAt(4)},

	"pause": {tell: tellSignal(-1)}, "rt_sigsuspend": {tell: tellSignal(-1)}, "rt_sigtimedwait": {tellSignal(2), timeAt(2)},
	"wait4": {tell: tellWait4}, "waitid": {tell: tellWaitID},
	"nanosleep": {tellSleep(0), sleepMemory(0)}, "clock_nanosleep": {tellSleep(2), sleepMemory(2)},

	"futex": {tell: func(a *asked) { *a.Wait = a.waitFutex(a.t) }}, "futex_wait": {tell: tellFutexWait}, "futex_waitv": {tellFutexes, futexesMemory},
	"flock": {tell: tellFlock}, "fcntl": {tellFcntl, fcntlMemory},
	"open": {tellOpen(-1, 0, 1), pathAt(0)}, "openat": {tellOpen(0, 1, 2), pathAt(1)}, "creat": {tellOpen(-1, 0, -1), pathAt(0)},
	"openat2": {tellOpen(0, 1, 2), openat2Memory},
	"msgrcv":  {tell: tellMessage(false)}, "msgsnd": {tell: tellMessage(true)},
	"semop": {tellSemaphores(-1), semaphoresMemory(-1)}, "semtimedop": {tellSemaphores(3), semaphoresMemory(3)},
}

// copyPointed reads what the call of a thread points to. nr, args and pc are those of the thread's registers.
func copyPointed(mem io.ReaderAt, nr int64, args [6]uint64, pc uint64) []futex.Memory {
	if nr == ptrace.CallRestart {
		var code [ptrace.CallWindow]byte
		n, _ := mem.ReadAt(code[:], int64(pc)-ptrace.CallLength)
		if own, ok := ptrace.RestartedCall(code[:n]); ok {
			nr = own
		}
	}
	call := waitCalls[procfs.SyscallName(nr)]
	if call.points == nil {
		return nil
	}
	var copied []futex.Memory
	for _, piece := range call.points(args) {
		if piece.addr == 0 || piece.size <= 0 {
			continue
		}
		b := make([]byte, piece.size)
		n, _ := mem.ReadAt(b, int64(piece.addr)) // what is not there is missing
		copied = append(copied, futex.Memory{At: piece.addr, Bytes: b[:n]})
	}
	return copied
}

// memory returns the bytes at an address, as many of them as were copied.
func (a *asked) memory(addr uint64, size int) []byte {
	for _, m := range a.t.pointed {
		if off := addr - m.At; addr >= m.At && off < uint64(len(m.Bytes)) {
			b := m.Bytes[off:]
			return b[:min(len(b), max(size, 0))]
		}
	}
	return nil
}
