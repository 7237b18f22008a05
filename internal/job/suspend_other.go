//go:build !linux

package job

import (
	"os"
	"syscall"
)

// suspend stops this program.
func suspend() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
