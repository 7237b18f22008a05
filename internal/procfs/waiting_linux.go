package procfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns the time of CLOCK_MONOTONIC, which is the same for all processes (of a
// time namespace).
func Monotonic() time.Duration { return clock(unix.CLOCK_MONOTONIC) }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(id, &ts) // cannot fail
	return time.Duration(ts.Nano())
}
