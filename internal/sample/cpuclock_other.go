//go:build !linux

package sample

import (
	"errors"
	"time"
)

func processorTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
