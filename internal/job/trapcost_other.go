//go:build !linux

package job

import (
	"context"
	"errors"
	"time"

	"ptools/pctl"
)

// MeasureTrap returns errors.ErrUnsupported.
func MeasureTrap(context.Context, *pctl.Session) (time.Duration, error) {
	return 0, errors.ErrUnsupported
}
