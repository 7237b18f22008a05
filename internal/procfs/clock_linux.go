package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// MonotonicOf returns the CLOCK_MONOTONIC that a process sees now. A time namespace adds an offset to it (time_namespaces(7)).
func MonotonicOf(pid int) time.Duration {
	return Monotonic() - clockOffset("self") + clockOffset(strconv.Itoa(pid))
}

// Age returns how long ago a process began whose Stat has that StartTime.
func Age(start uint64) time.Duration {
	const tick = 10 * time.Millisecond
	return clock(unix.CLOCK_BOOTTIME) - time.Duration(start)*tick
}

// clockOffset returns the offset of a process, 0 before Linux 5.6. The file has those of the namespace of its children, which is
// the process's own unless it has made a new one.
func clockOffset(pid string) time.Duration {
	text, err := os.ReadFile("/proc/" + pid + "/timens_offsets")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var sec, nsec int64
		if n, _ := fmt.Sscanf(line, "monotonic %d %d", &sec, &nsec); n == 2 {
			return time.Duration(sec)*time.Second + time.Duration(nsec)
		}
	}
	return 0
}
