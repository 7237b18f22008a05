//go:build !amd64

package bkpt

import (
	"errors"

	"ptools/internal/ptrace"
)

// SlotSize is the size and alignment of a scratch slot.
const SlotSize = 32

// A Plan says how a thread gets past one instruction. There is none on this
// architecture.
type Plan struct{}

// MakePlan fails with [errors.ErrUnsupported].
func MakePlan(code []byte, addr uint64) (Plan, error) {
	return Plan{}, errors.ErrUnsupported
}

// Kind returns StepAll.
func (p *Plan) Kind() Kind { return StepAll }

// Shadowed returns StepAll.
func (p *Plan) Shadowed() Kind { return StepAll }

// Len returns 0.
func (p *Plan) Len() int { return 0 }

// IsSyscall reports false.
func (p *Plan) IsSyscall() bool { return false }

// UsesMemory reports false.
func (p *Plan) UsesMemory() bool { return false }

// IsTrap reports false.
func (p *Plan) IsTrap() bool { return false }

// Emulate fails with [errors.ErrUnsupported].
func (p *Plan) Emulate(r *ptrace.Regs, m Memory) (ok bool, err error) {
	return false, errors.ErrUnsupported
}

// Probeable reports false.
func (p *Plan) Probeable() bool { return false }

// Displaced fails with [errors.ErrUnsupported].
func (p *Plan) Displaced(slot uint64) (Copy, error) {
	return Copy{}, errors.ErrUnsupported
}

// Enter does nothing.
func (p *Plan) Enter(r *ptrace.Regs, slot uint64) (saved Saved) { return Saved{} }

// Leave reports true.
func (p *Plan) Leave(r *ptrace.Regs, slot uint64, saved Saved, m Memory) (done bool) {
	return true
}
