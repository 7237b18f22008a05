package perfevent

import "ptools/internal/ptrace"

// Registers returns the registers that were read at the end of a call, as far as they are told.
func (v *CallValues) Registers() *ptrace.Regs {
	var r ptrace.Regs
	r.SetPC(v.Result[ResultIP])
	r.SetSP(v.Result[ResultSP])
	return &r
}

// contextOf returns nothing: calls are not counted on this processor.
func contextOf(*ptrace.Regs) []byte { return nil }
