package perfevent

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Now returns the time of CLOCK_MONOTONIC of the first time namespace, the clock of the records. In another namespace
// clock_gettime(2) adds an offset, and the kernel's records do not have it (time_namespaces(7)).
func Now() time.Duration {
	var ts unix.Timespec
	// It cannot fail, and does not block: the caller, who may hold a lock that others wait for, keeps its processor of Go's runtime.
	unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()) - ourOffset()
}

// ourOffset is what our time namespace adds to CLOCK_MONOTONIC. The file shows the offsets of the namespace that our
// children get, which is ours as well unless this program has made a new one.
var ourOffset = sync.OnceValue(func() time.Duration {
	own, err := os.Readlink("/proc/self/ns/time")
	children, err2 := os.Readlink("/proc/self/ns/time_for_children")
	if err != nil || err2 != nil || own != children {
		return 0 // before Linux 5.6 there are none
	}
	offsets, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return 0
	}
	return parseOffset(offsets, "monotonic")
})

// parseOffset returns the offset of a clock in the text of timens_offsets: in each line a name, seconds, nanoseconds.
func parseOffset(text []byte, clock string) time.Duration {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) != 3 || f[0] != clock {
			continue
		}
		sec, err := strconv.ParseInt(f[1], 10, 64)
		nsec, err2 := strconv.ParseInt(f[2], 10, 64)
		if err == nil && err2 == nil {
			return time.Duration(sec)*time.Second + time.Duration(nsec)
		}
	}
	return 0
}
