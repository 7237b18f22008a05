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
