//go:build !linux

package need

import "errors"

func refusedBy(Call) error { return errors.ErrUnsupported }
