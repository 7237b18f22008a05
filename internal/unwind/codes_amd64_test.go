package unwind

import (
	"slices"
	"testing"

	"ptools/internal/ptrace"
)

// TestCodeNotOf64Bits: the callers of 32-bit code are not looked for. In a segment that the process has made nothing is
// known of the program counter either.
func TestCodeNotOf64Bits(t *testing.T) {
	for cs, want := range map[uint64][]Frame{
		0x23: {{PC: 0x1000, SP: 0x2000}},
		7:    {{SP: 0x2000}}, // in the local descriptor table
	} {
		u := New(nowhere{})
		var regs ptrace.Regs
		regs.Rip, regs.Rsp, regs.Rbp, regs.Cs = 0x1000, 0x2000, 0x2000, cs
		stack := Stack{Base: 0x2000, Data: make([]byte, 64)}
		if got, end := u.Unwind(&regs, stack, nil); !slices.Equal(got, want) || end != Unsupported {
			t.Errorf("selector %#x: %+v, %v", cs, got, end)
		}
	}
}

// nowhere is a process without code.
type nowhere struct{}

func (nowhere) Find(uint64) (Mapping, bool) { return Mapping{}, false }
