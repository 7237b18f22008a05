package source

import (
	"syscall"
	"time"

	"ptools/internal/procfs"
)

// processorTimeOf returns what reads the processor time of the process that has a number now. Its number may become that of
// another one: then the error is ESRCH.
func processorTimeOf(pid int) func() (time.Duration, error) {
	begun, none := procfs.ReadStat(pid)
	return func() (time.Duration, error) {
		used, err := ProcessorTime(pid)
		if err != nil {
			return 0, err
		}
		stat, err := procfs.ReadStat(pid) // after the time: the number was still the same process's then
		if err == nil && (none != nil || stat.StartTime != begun.StartTime) {
			err = syscall.ESRCH
		}
		return used, err
	}
}
