package sample

import (
	"os"
	"syscall"
)

// procMagic is the type of proc in statfs(2). What container managers mount over
// single files of it is computed now and then, for other readers.
const procMagic = 0x9fa0

func newCensus() census {
	f, err := os.Open("/proc/loadavg")
	if err != nil {
		return census{}
	}
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil || st.Type != procMagic {
		f.Close()
		return census{}
	}
	return census{file: f}
}
