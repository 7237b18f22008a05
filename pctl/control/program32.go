package control

import (
	"errors"
	"fmt"
)

// Err32Bit is the error for a target that runs a 32-bit program. Such a target is controlled like any
// other. Its stacks are not unwound, and it has no breakpoints, since instructions are decoded as
// 64-bit code. Err32Bit satisfies errors.ErrUnsupported.
var Err32Bit error = program32{}

type program32 struct{}

func (program32) Error() string {
	return "a 32-bit program: its stacks are not unwound, and no breakpoint is set in it"
}

func (program32) Is(target error) bool { return target == errors.ErrUnsupported }

// lacks returns what the program that the target has just executed lacks. Those are rights, since it is
// traced, and what this package does only for 64-bit programs.
func (i *image) lacks() error {
	err := withheld(i.g.PID)
	switch {
	case !i.program.Is32Bit():
		return err
	case err == nil:
		return Err32Bit
	}
	return fmt.Errorf("%w; %w", Err32Bit, err)
}
