//go:build !amd64

package unwind

import "ptools/internal/ptrace"

// load reports that there is no unwinding on this machine.
func (u *Unwinder) load(*ptrace.Regs, bool) bool { return false }

// leave is never reached: load refuses.
func (u *Unwinder) leave(*place, uint64) (exit, End) { return byReturn, Unsupported }

// codeWindow is how much code is read at a time.
const codeWindow = 1
