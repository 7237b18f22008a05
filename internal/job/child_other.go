//go:build !linux

package job

import (
	"errors"
	"syscall"
)

func awaitChange(int) (signal syscall.Signal, status int, err error) {
	return 0, 0, errors.ErrUnsupported
}

func reap(int) {}
