package ptrace

import (
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BellSignal interrupts a blocked Wait. Neither the kernel nor the C libraries use it, and
// package os/signal leaves it alone. It is not a real-time signal. Those are queued, and
// sending one fails with EAGAIN while the user has as many queued as RLIMIT_SIGPENDING
// allows. One stopped target that is flooded with them is enough for that.
const BellSignal = syscall.SIGSTKFLT

// A Bell wakes one OS thread out of Wait.
//
// The Go runtime installs every handler with SA_RESTART, under which wait4(2) continues
// to wait after a signal. The bell has a handler of its own, one instruction long. It
// runs on the signal stack that Go gave the thread, and has no SA_RESTART. So Wait
// returns EINTR, and no Go code sees the signal. A ring is lost when it falls between
// the caller's last look at its queue and the wait4. So the requester rings again until
// its request is served.
type Bell struct {
	pid, tid int
}

// bellAddrs returns the handler and the code that it returns to, 0 if that is the vDSO's.
func bellAddrs() (handler, restorer uintptr)

// sigaction is the kernel's struct sigaction.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	saSigInfo    = 0x4
	saNoCldStop  = 0x1
	saOnStack    = 0x08000000
	sigUnblock   = 1
	sigsetLength = 8
)

func rtSigaction(sig syscall.Signal, set, old *sigaction) error {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), sigsetLength, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

var bellMu sync.Mutex

// Install installs the bell's handler, also where sigaction(2) has replaced it. Any
// goroutine may call it.
func (b *Bell) Install() error {
	bellMu.Lock()
	defer bellMu.Unlock()
	handler, restorer := bellAddrs()
	var old sigaction
	if err := rtSigaction(BellSignal, nil, &old); err != nil {
		return err
	}
	if old.handler == handler {
		return nil
	}
	return rtSigaction(BellSignal, &sigaction{handler: handler, flags: saOnStack | bellFlags, restorer: restorer}, nil)
}

// NewBell returns a Bell for the calling OS thread, to which the goroutine is locked. It
// unblocks the signal on this thread: a program may have been started with every signal
// blocked.
func NewBell() (*Bell, error) {
	b := &Bell{pid: os.Getpid(), tid: ThreadID()}
	if err := b.Install(); err != nil {
		return nil, err
	}
	mask := uint64(1) << (BellSignal - 1)
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, sigUnblock, uintptr(unsafe.Pointer(&mask)), 0, sigsetLength, 0, 0)
	if e != 0 {
		return nil, e
	}
	return b, nil
}

// Ring interrupts the thread's Wait. Any goroutine may call it. ESRCH: the thread is gone.
func (b *Bell) Ring() error { return Kill(b.pid, b.tid, BellSignal) }

// QuietStops keeps the kernel from sending this program SIGCHLD for every stop of a
// tracee (SA_NOCLDSTOP). Each of them would run the Go runtime's handler. Ends of
// children still send SIGCHLD. A program that needs SIGCHLD for job-control stops of
// its own children must not call QuietStops.
func QuietStops() error {
	var sa sigaction
	if err := rtSigaction(syscall.SIGCHLD, nil, &sa); err != nil {
		return err
	}
	sa.flags |= saNoCldStop
	return rtSigaction(syscall.SIGCHLD, &sa, nil)
}
