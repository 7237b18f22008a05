package a64

import (
	"errors"
	"io"
)

// Kind says how a thread gets past an instruction.
type Kind uint8

const (
	// Emulate: the instruction's effect is computed.
	Emulate Kind = iota
	// Displace: the thread runs a copy of the instruction elsewhere.
	Displace
	// StepAll: the instruction can only run in its own place.
	StepAll
)

var kindNames = [...]string{"emulate", "displace", "step-all"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// SlotSize is the size and alignment of a scratch slot: an instruction and a branch back.
const SlotSize = 8

// ErrNoPlan is the error for every instruction: no way past a breakpoint is known on this machine yet.
var ErrNoPlan = errors.New("breakpoints are not supported on arm64")

// Memory is the memory that an instruction accesses.
type Memory interface {
	io.ReaderAt
	io.WriterAt
}

// A Plan says how a thread gets past one instruction. Only the zero value exists: an instruction that runs in its own place.
type Plan struct{}

// A Copy is an instruction made ready to run in a scratch slot.
type Copy struct {
	Code    []byte
	Direct  bool
	Scratch int
}

// Saved is what Enter has changed and Exit has to restore.
type Saved struct{}

// MakePlan returns ErrNoPlan.
func MakePlan([]byte, uint64) (Plan, error) { return Plan{}, ErrNoPlan }

// Kind is StepAll.
func (p *Plan) Kind() Kind { return StepAll }

// Len is the length of the instruction in bytes.
func (p *Plan) Len() int { return Size }

// IsSyscall and IsTrap report what the instruction does; no plan has one that does.
func (p *Plan) IsSyscall() bool { return false }

// IsTrap is like IsSyscall.
func (p *Plan) IsTrap() bool { return false }

// UsesMemory reports whether emulation of the instruction accesses memory.
func (p *Plan) UsesMemory() bool { return false }

// Probeable reports whether the kernel may execute the instruction for its uprobes.
func (p *Plan) Probeable() bool { return false }

// Emulate reports that the instruction is not emulated.
func (p *Plan) Emulate(*Regs, Memory) (ok bool, err error) { return false, nil }

// Displaced returns ErrNoPlan.
func (p *Plan) Displaced(uint64) (Copy, error) { return Copy{}, ErrNoPlan }

// Enter changes nothing: there is no copy.
func (p *Plan) Enter(*Regs, uint64) Saved { return Saved{} }

// Exit reports that the instruction has run.
func (p *Plan) Exit(*Regs, uint64, Saved, Memory) (done bool) { return true }
