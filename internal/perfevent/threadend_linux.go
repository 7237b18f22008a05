package perfevent

import (
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A ThreadEnd tells when a thread has ended and has no memory any more. The thread need not be traced: a tracer is told nothing of
// a first thread that ends before the others.
type ThreadEnd struct {
	event *os.File
	mem   []byte
}

// WatchThread returns the ThreadEnd of a thread. The error is ErrThreadEnded if it has ended.
//
// It is a perf event that counts nothing. The kernel hangs it up when its thread ends, after the memory is gone (do_exit, then
// perf_event_exit_task). Poll tells that of an event that has a buffer only (perf_poll).
func WatchThread(tid int) (*ThreadEnd, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits: unix.PerfBitDisabled,
	}
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == unix.ESRCH && unix.Access("/proc/"+strconv.Itoa(tid), unix.F_OK) == nil {
		err = ErrThreadEnded
	}
	if err != nil {
		return nil, os.NewSyscallError("perf_event_open", err)
	}
	mem, err := unix.Mmap(fd, 0, 2*os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that Go's poller takes it
	}
	if err != nil {
		if mem != nil {
			unix.Munmap(mem)
		}
		unix.Close(fd)
		return nil, err
	}
	return &ThreadEnd{os.NewFile(uintptr(fd), "perf event"), mem}, nil
}

// Wait reports true when the thread has ended, and false when the ThreadEnd was closed before. It is called once.
func (w *ThreadEnd) Wait() bool {
	defer unix.Munmap(w.mem)
	raw, err := w.event.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	err = raw.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd)}}
		n, _ := unix.Poll(p, 0)
		ended = n > 0 && p[0].Revents&unix.POLLHUP != 0
		return ended
	})
	return ended && err == nil
}

// Close ends Wait.
func (w *ThreadEnd) Close() error { return w.event.Close() }
