//go:build !linux

package source

import (
	"errors"
	"time"
)

func ProcessorTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
