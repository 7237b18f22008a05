package unwind

import (
	"slices"
	"testing"
)

func TestEndsInCall(t *testing.T) {
	for _, test := range []struct {
		code string
		call bool
	}{
		{"\x90\x90\x90\xe8\x10\x00\x00\x00", true},  // call +16
		{"\x90\x90\x90\x90\x90\x90\xff\xd0", true},  // call *%rax
		{"\x90\x90\x90\x90\x90\x41\xff\xd4", true},  // call *%r12
		{"\x90\x90\x90\x90\x90\xff\x50\x18", true},  // call *24(%rax)
		{"\x90\x90\x90\x90\xff\x54\x24\x08", true},  // call *8(%rsp)
		{"\x90\x90\xff\x15\x00\x10\x00\x00", true},  // call *4096(%rip)
		{"\x90\xff\x94\xc3\x00\x01\x00\x00", true},  // call *256(%rbx,%rax,8)
		{"\x90\xff\x14\xc5\x00\x01\x00\x00", true},  // call *256(,%rax,8)
		{"\x90\x90\x90\x90\x90\x90\xff\xe0", false}, // jmp *%rax
		{"\x90\x90\x90\x90\x48\x89\xe5\x55", false}, // mov %rsp,%rbp; push %rbp
		{"\x90\x90\x90\x90\x90\x90\xff\xf0", false}, // push %rax
	} {
		target, ok := endsInCall([]byte(test.code), 0x1000)
		if ok != test.call {
			t.Errorf("% x: %v", test.code, ok)
		}
		if test.code[3] == 0xe8 && target != 0x1010 {
			t.Errorf("% x: target %#x", test.code, target)
		}
	}
}

// TestWalk finds ways out of functions by their code.
func TestWalk(t *testing.T) {
	const start = fuzzBase
	for _, test := range []struct {
		name    string
		code    string
		at      uint64 // the instruction to leave from
		in, out string // CFA, and where the caller's rbp is
	}{
		{"leaf", "\x31\xc0\xc3", 2, "r7+8", "r7+8"},
		{"at the start", "\x55\x48\x89\xe5\x5d\xc3", 0, "r7+8", "r7+8 rbp r7-8"},
		{"after push", "\x55\x48\x89\xe5\x5d\xc3", 1, "r7+16 rbp r7+0", "r7+16 rbp r7+0"},
		{"in the body", "\x55\x48\x89\xe5\x48\x83\xec\x20\x90\xc9\xc3", 8, "r6+16 rbp r6+0", "r6+16 rbp r6+0"},
		{"before ret", "\x55\x48\x89\xe5\xc9\xc3", 5, "r7+8", "r7+8"},
		{"no frame pointer", "\x53\x48\x83\xec\x18\x90\x48\x83\xc4\x18\x5b\xc3", 5, "r7+40", "r7+40"},
		{"around a loop", "\x53\x90\xeb\xfd", 1, "r7+16", "none"},
		{"out of a loop", "\x53\x90\x74\x02\xeb\xfb\x5b\xc3", 1, "r7+16", "r7+16"},
		{"AVX", "\x53\xc5\xfd\x6f\x44\x24\x08\x5b\xc3", 1, "r7+16", "r7+16"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code := make([]byte, 512)
			n := copy(code, test.code)
			for i := n; i < len(code); i++ {
				code[i] = 0xf4 // hlt
			}
			m := Mapping{Start: start, End: start + 512, Table: newTable(fuzzObject{code: code})}
			u := New(fuzzCode{m})
			end := start + uint64(n)
			in, out := u.walkIn(&m, start, start+test.at, end), u.walkOut(&m, start+test.at, end)
			if got := routeText(in); got != test.in {
				t.Errorf("in: %s, want %s", got, test.in)
			}
			if got := routeText(out); got != test.out {
				t.Errorf("out: %s, want %s", got, test.out)
			}
		})
	}
}

// TestWalkBack finds the start of a function that never returns, among other functions.
func TestWalkBack(t *testing.T) {
	const before = "\x53\x48\x83\xec\x20\x48\x83\xc4\x20\x5b\xc3" // a function that returns
	for _, test := range []struct {
		name, code string
		want       []string
	}{
		{"push and room", before + "\x41\x54\x53\x48\x83\xec\x18\xe8\x00\x00\x00\x00", []string{"r7+48"}},
		{"behind a call", "\xe8\x00\x00\x00\x00\x48\x83\xec\x18\xe8\x00\x00\x00\x00", []string{"r7+32"}},
		{"a push for a call", before + "\x53\xeb\x00\x55\xe8\x00\x00\x00\x00", []string{"r7+16 rbp r7+0", "r7+24 rbp r7+0"}},
		{"no start", "\x90\x90\x90\x90\x90\x31\xc0\xe8\x00\x00\x00\x00", nil},
	} {
		code := append([]byte(test.code), 0xf4, 0xf4, 0xf4, 0xf4)
		m := Mapping{Start: fuzzBase, End: fuzzBase + uint64(len(code)), Table: newTable(fuzzObject{code: code})}
		var got []string
		for _, r := range New(fuzzCode{m}).walkBack(&m, fuzzBase+uint64(len(test.code))) {
			got = append(got, routeText(r))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func routeText(r route) string {
	if !r.ok {
		return "none"
	}
	s := ruleText(nil, r.cfa)
	if r.rbp {
		s += " rbp " + ruleText(nil, r.at)
	}
	return s
}
