package source

import (
	"syscall"
	"time"
	"unsafe"
)

// schedClock, in the clock number of a process, selects the time that the
// scheduler has counted (clock_getcpuclockid(3); CPUCLOCK_SCHED in the kernel's
// include/linux/posix-timers_types.h).
const schedClock = 2

// ProcessorTime returns the processor time of all threads of a process, ended
// ones included. It is exact to the nanosecond, unlike /proc. It lacks the time
// of a running thread since the last scheduler tick. It needs no permission.
func ProcessorTime(pid int) (time.Duration, error) {
	clock := uint32(^pid<<3 | schedClock)
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		return 0, errno
	}
	return time.Duration(ts.Nano()), nil
}
