package unwind

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"ptools/internal/ptrace"
	"ptools/internal/x86"
)

// madeCode is memory with code made at run time, at fuzzBase.
type madeCode [512]byte

func (m *madeCode) ReadAt(p []byte, addr int64) (int, error) {
	const page = fuzzBase &^ (pageSize - 1)
	whole := make([]byte, pageSize)
	copy(whole[fuzzBase-page:], m[:])
	if addr < page || addr >= page+pageSize {
		return 0, io.EOF
	}
	return copy(p, whole[addr-page:]), nil
}

// TestMadeAnew: after code has come or has been replaced, the stacks of the present code are soon
// whole again.
func TestMadeAnew(t *testing.T) {
	const pc, caller = fuzzBase + 16, fuzzBase + 256
	var code madeCode
	u := New(fuzzCode{Mapping{Start: fuzzBase, End: fuzzBase + uint64(len(code)), Special: Anonymous}})
	// frames returns how many frames are found of a function that has room for size bytes.
	frames := func(size int) int {
		words := make([]uint64, 64)
		words[size/8] = caller
		var stack bytes.Buffer
		binary.Write(&stack, binary.LittleEndian, words)
		got, end := u.Unwind(&ptrace.Regs{Regs: x86.Regs{Rip: pc, Rsp: 1 << 32}}, Stack{Base: 1 << 32, Data: stack.Bytes(), Mem: &code}, nil)
		if end != Whole {
			return 0
		}
		return len(got)
	}
	if n := frames(24); n != 0 {
		t.Fatalf("%d frames without code", n)
	}
	copy(code[256-5:], "\xe8\x00\x00\x00\x00\x31\xc0\xc3") // call; xor %eax,%eax; ret
	for _, size := range []int{24, 56, 8} {
		copy(code[16:], []byte{0x48, 0x83, 0xc4, byte(size), 0xc3}) // add $size,%rsp; ret
		last := 0
		for range 2*madeDoubt + 2 {
			last = frames(size)
		}
		if last != 2 {
			t.Errorf("room for %d bytes: %d frames of 2", size, last)
		}
	}
}

// TestMadeBottom: a stack of code made at run time ends where its first function returns to an address that no call is
// in front of, or to nothing certain. The words behind the end look like return addresses. They are callers if they lead
// to the bottom of a stack.
func TestMadeBottom(t *testing.T) {
	const leaf, caller, bottom = fuzzBase + 16, fuzzBase + 256, fuzzBase + 384
	const call, ret = "\xe8\x00\x00\x00\x00", "\x48\x83\xc4\x08\xc3" // add $8,%rsp; ret
	for _, test := range []struct {
		name, out string // how the caller returns
		fp, end   uint64 // frame pointer; the last word of the stack
		want      []uint64
	}{
		{"to its bottom", ret, 0, 1, []uint64{leaf, caller, bottom}},
		{"not in sight", "\xf4", 0, 1, []uint64{leaf, caller}},
		{"from an interpreter", ret, 1<<32 + 40, 1, []uint64{leaf, caller, bottom, caller}},
		{"and is whole", ret, 0, 0, []uint64{leaf, caller, bottom, caller, caller}},
	} {
		var code madeCode
		copy(code[16:], ret)
		copy(code[256-5:], call+test.out)
		copy(code[384:], ret)
		words := []uint64{0, caller, 0, bottom, 0, caller, caller, caller, 1, test.end, 1, 1, 1}
		var stack bytes.Buffer
		binary.Write(&stack, binary.LittleEndian, words)
		u := New(fuzzCode{Mapping{Start: fuzzBase, End: fuzzBase + uint64(len(code)), Special: Anonymous}})
		regs := &ptrace.Regs{Regs: x86.Regs{Rip: leaf, Rsp: 1 << 32, Rbp: test.fp}}
		frames, end := u.Unwind(regs, Stack{Base: 1 << 32, Data: stack.Bytes(), Mem: &code}, nil)
		var got []uint64
		for _, f := range frames {
			got = append(got, f.PC)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %#x %v, want %#x", test.name, got, end, test.want)
		}
		if len(got) > 2 && frames[2].Return {
			t.Errorf("%s: %#x is looked up as a return address", test.name, got[2])
		}
	}
}
