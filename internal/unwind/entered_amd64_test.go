package unwind

import (
	"bytes"
	"encoding/binary"
	"testing"

	"ptools/internal/ptrace"
	"ptools/internal/x86"
)

// TestTrampolinePC: a thread that calls sigreturn is in its trampoline, and one in the function behind it is not.
func TestTrampolinePC(t *testing.T) {
	const interrupted, behind = fuzzBase + 0x100, fuzzBase + 0x40
	for _, trampoline := range []string{restorer64, restorer32} {
		code := bytes.Repeat([]byte{0xf4}, 512) // hlt
		start := 0x40 - len(trampoline)
		copy(code[start:], trampoline)
		code[0x40] = 0xc3                                    // ret: another function
		copy(code[0x100-5:], "\xe8\x00\x00\x00\x00\x90\xf4") // call: the caller of that function
		m := Mapping{Start: fuzzBase, End: fuzzBase + 512, Table: newTable(fuzzObject{code: code})}
		words := make([]uint64, 64)
		words[0] = interrupted // the other function's return address
		words[sigcontext[regRSP]/8], words[sigcontext[regRIP]/8] = 1<<32+0x300, interrupted
		var stack bytes.Buffer
		binary.Write(&stack, binary.LittleEndian, words)
		for _, test := range []struct {
			what        string
			pc, rcx, at uint64
			signal      bool
		}{
			{"before it", fuzzBase + uint64(start), 0, fuzzBase + uint64(start), true},
			{"at the call", behind - 2, 0, behind - 2, true},
			{"in the call", behind, behind, behind - 2, true},
			{"in the next function", behind, 1, behind, false},
		} {
			frames, _ := New(fuzzCode{m}).Unwind(&ptrace.Regs{Regs: x86.Regs{Rip: test.pc, Rcx: test.rcx, Rsp: 1 << 32}}, Stack{Base: 1 << 32, Data: stack.Bytes()}, nil)
			if len(frames) < 2 || frames[0].PC != test.at || frames[0].Signal != test.signal || frames[1] != (Frame{PC: interrupted, SP: frames[1].SP, Return: !test.signal}) {
				t.Errorf("% x, %s: %+v", trampoline, test.what, frames)
			}
		}
	}
}

// TestPlacedAddress: an address that was put on the stack is no return address if no call is in front of it, and is
// one behind the call of a function that never returns.
func TestPlacedAddress(t *testing.T) {
	code := bytes.Repeat([]byte{0xf4}, 512)
	code[0x40] = 0xc3 // ret
	copy(code[0x100-5:], "\xe8\x00\x00\x00\x00")
	m := Mapping{Start: fuzzBase, End: fuzzBase + 512, Table: newTable(fuzzObject{code: code})}
	u := New(fuzzCode{m})
	for _, test := range []struct {
		addr uint64
		want site
	}{{fuzzBase + 0x80, entered}, {fuzzBase + 0x100, behindCall}} {
		if got := u.newPlan(&place{pc: test.addr, ret: true, ok: true, m: m}).site; got != test.want {
			t.Errorf("%#x: %d, want %d", test.addr, got, test.want)
		}
	}
}
