package a64

import "testing"

// TestInstructions: words as GNU as assembles them.
func TestInstructions(t *testing.T) {
	for _, tt := range []struct {
		text                       string
		in                         uint32
		syscall, call, frame, move bool
	}{
		{text: "svc #0", in: 0xd4000001, syscall: true},
		{text: "svc #1", in: 0xd4000021},
		{text: "brk #0", in: 0xd4200000},
		{text: "bl .", in: 0x94000000, call: true},
		{text: "b .", in: 0x14000000},
		{text: "blr x3", in: 0xd63f0060, call: true},
		{text: "br x3", in: 0xd61f0060},
		{text: "blraaz x3", in: 0xd63f087f, call: true},
		{text: "blraa x3, x4", in: 0xd73f0864, call: true},
		{text: "blrab x3, sp", in: 0xd73f0c7f, call: true},
		{text: "braa x3, x4", in: 0xd71f0864},
		{text: "ret", in: 0xd65f03c0},
		{text: "ret x3", in: 0xd65f0060},
		{text: "retaa", in: 0xd65f0bff},
		{text: "retab", in: 0xd65f0fff},
		{text: "eret", in: 0xd69f03e0},
		{text: "mov x29, sp", in: 0x910003fd, frame: true},
		{text: "add x29, sp, #0x20", in: 0x910083fd, frame: true},
		{text: "add x28, sp, #0x20", in: 0x910083fc},
		{text: "mov sp, x29", in: 0x910003bf},
		{text: "mov x8, #98", in: 0xd2800c48, move: true},
		{text: "mov w8, #98", in: 0x52800c48, move: true},
		{text: "movz x8, #98, lsl #16", in: 0xd2a00c48},
		{text: "movk x8, #98", in: 0xf2800c48},
		{text: "mov x8, #-99", in: 0x92800c48},
		{text: "nop", in: 0xd503201f},
	} {
		_, _, call := IsCall(tt.in)
		reg, v, move := MoveImm(tt.in)
		if IsSyscall(tt.in) != tt.syscall || call != tt.call || SetsFP(tt.in) != tt.frame || move != tt.move {
			t.Errorf("%s: syscall %v, call %v, frame %v, move %v", tt.text, IsSyscall(tt.in), call, SetsFP(tt.in), move)
		}
		if tt.move && (reg != 8 || v != 98) {
			t.Errorf("%s: x%d = %d", tt.text, reg, v)
		}
	}
}

// TestTargets: a direct call has its target, relative to itself, in both directions.
func TestTargets(t *testing.T) {
	for in, want := range map[uint32]int64{0x94000001: 4, 0x97ffffff: -4, 0x95ffffff: 1<<27 - 4, 0x96000000: -1 << 27} {
		if off, direct, ok := IsCall(in); off != want || !direct || !ok {
			t.Errorf("%#x: %d, %v, %v: want %d", in, off, direct, ok, want)
		}
	}
	if off, direct, _ := IsCall(0xd63f0060); off != 0 || direct {
		t.Errorf("blr has the target %d", off)
	}
}

// TestStrip: what pointer authentication adds is removed, and unsigned addresses stay.
func TestStrip(t *testing.T) {
	for addr, want := range map[uint64]uint64{
		0xaaaaaaaa1234: 0xaaaaaaaa1234, 0x7f_aaaa_aaaa_1234: 0xaaaaaaaa1234, 0x0050_ffff_8000_1000: 0xffff_8000_1000, 0: 0,
	} {
		if got := Strip(addr); got != want {
			t.Errorf("%#x: %#x, want %#x", addr, got, want)
		}
	}
}

// TestRegs: 32-bit code and the privileged modes are not 64-bit user code.
func TestRegs(t *testing.T) {
	for pstate, want := range map[uint64][2]bool{0x60000000: {true, false}, 0x60000010: {false, true}, 0x3c5: {false, false}} {
		r := Regs{Pstate: pstate}
		if got := [2]bool{r.Is64Bit(), r.Is32Bit()}; got != want {
			t.Errorf("pstate %#x: 64 and 32 bits %v, want %v", pstate, got, want)
		}
	}
}
