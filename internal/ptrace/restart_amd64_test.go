package ptrace

import "testing"

func TestRestartedCall(t *testing.T) {
	const poll = "\xb8\x07\x00\x00\x00\x0f\x05"
	for _, c := range []struct {
		code string
		want int64
	}{
		{poll, 7},
		{poll + "\x90\x90", 7},
		{"\x90\x90" + poll, 7}, // in front of the instruction
		{"\x90" + poll, 0},
		{poll[:6], 0},
		{"\xb8\x07\x00\x00\x00\xcd\x80", 0}, // 32-bit numbers
		{"", 0},
	} {
		if nr, ok := RestartedCall([]byte(c.code)); nr != c.want || ok != (c.want != 0) {
			t.Errorf("%x: %d %v, want %d", c.code, nr, ok, c.want)
		}
	}
}

func TestSyscallBefore(t *testing.T) {
	for _, c := range []struct {
		code string
		want int64
	}{
		{"\x90\x90\xb8\x07\x00\x00\x00\x0f\x05", 7},
		{"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 15}, // a signal trampoline
		{"\x90\x90\x90\x90\x90\x31\xc0\x0f\x05", 0},
		{"\x90\xc7\xc0\x0f\x00\x00\x00\x0f\x05", -1},
		{"\x90\x90\xb8\x07\x00\x00\x00\xcd\x80", -1},
	} {
		nr, ok := SyscallBefore((*[SyscallCode]byte)([]byte(c.code)))
		if !ok {
			nr = -1
		}
		if nr != c.want {
			t.Errorf("%x: %d, want %d", c.code, nr, c.want)
		}
	}
}
