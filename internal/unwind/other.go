//go:build !amd64

package unwind

import "ptools/internal/ptrace"

// load reports that there is no unwinding on this machine.
func (a *activation) load(*ptrace.Regs, bool) bool { return false }

// leave is never reached: load refuses.
func (u *Unwinder) leave(*place, uint64) (exit, End) { return byReturn, Unsupported }

// codeWindow is how much code is read at a time.
const codeWindow = 1

// callCache is the number of call sites remembered.
const callCache = 1

// A callsite is not used.
type callsite struct{}

// A walker is not used.
type walker struct{}

// newPlan is never reached.
func (l *planner) newPlan(*place) plan { return plan{} }
