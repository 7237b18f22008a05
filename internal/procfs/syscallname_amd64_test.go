package procfs

import "testing"

// TestSyscallName compares some names with the kernel's table of this machine.
func TestSyscallName(t *testing.T) {
	for nr, want := range map[int64]string{
		0: "read", 202: "futex", 232: "epoll_wait", 281: "epoll_pwait", 334: "rseq", 435: "clone3",
		400: "syscall_400", -1: "syscall_-1", 1 << 40: "syscall_1099511627776",
	} {
		if got := SyscallName(nr); got != want {
			t.Errorf("SyscallName(%d) = %q, want %q", nr, got, want)
		}
	}
}

func TestParseTurn(t *testing.T) {
	const head, switches = "redis-server (81, #threads: 6)\n-----------\n", "nr_involuntary_switches : 17\n"
	for _, c := range []struct {
		text string
		want Turn
		ok   bool
	}{
		{head + "se.exec_start                                :       5056059.816680\nse.vruntime : 54129.493687\n" + switches, Turn{5056059816680, 17}, true},
		{head + "se.exec_start : 0.000001\n" + switches, Turn{1, 17}, true},
		{head + "se.exec_start : 0.000001\n", Turn{}, false},
		{head + "se.exec_start : 5056059.8166", Turn{}, false},
		{head + "se.exec_start : 5056059.816680123456789\n" + switches, Turn{}, false},
		{head + "se.vruntime : 54129.493687\n" + switches, Turn{}, false},
		{"", Turn{}, false},
	} {
		got, err := parseTurn([]byte(c.text))
		if (err == nil) != c.ok || c.ok && got != c.want {
			t.Errorf("parseTurn(%q) = %d, %v; want %d", c.text, got, err, c.want)
		}
	}
}
