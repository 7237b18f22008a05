package control

import (
	"errors"
	"runtime"
)

// ErrMachine is the error on a processor on which no thread can be controlled. It satisfies errors.ErrUnsupported.
var ErrMachine error = machineLacks{}

type machineLacks struct{}

func (machineLacks) Error() string {
	return "processes cannot be controlled on " + runtime.GOARCH + " yet: no stops, no breakpoints"
}

func (machineLacks) Is(target error) bool { return target == errors.ErrUnsupported }
