package ptrace

import (
	"syscall"
	"testing"
)

// The low byte of a wait status says what happened. Bits 8 to 15 are the exit status, or the signal of a stop. The
// bits above are the ptrace event (wait4(2), ptrace(2)).
const stopped = 0x7f

func stop(sig syscall.Signal, event uint32) uint32 { return stopped | uint32(sig)<<8 | event<<16 }

// The signals of job control, by the numbers that Linux gives them.
const (
	linuxSIGSTOP syscall.Signal = 19
	linuxSIGTSTP syscall.Signal = 20
	linuxSIGTTIN syscall.Signal = 21
	linuxSIGTTOU syscall.Signal = 22
)

// TestDecode decodes every wait status that the kernel can give of a tracee.
func TestDecode(t *testing.T) {
	for _, test := range []struct {
		name   string
		status uint32
		want   Stop
	}{
		{"exit 0", 0, Stop{Kind: KindExited}},
		{"exit 255", 255 << 8, Stop{Kind: KindExited, Code: 255}},
		{"killed", 9, Stop{Kind: KindKilled, Signal: 9}},
		{"core dumped", 0x80 | 11, Stop{Kind: KindKilled, Signal: 11, Core: true}},
		{"killed by the last real-time signal", 64, Stop{Kind: KindKilled, Signal: 64}},
		{"signal", stop(10, 0), Stop{Kind: KindSignal, Signal: 10}},
		{"signal 64", stop(64, 0), Stop{Kind: KindSignal, Signal: 64}},
		{"SIGTRAP is a signal like others", stop(5, 0), Stop{Kind: KindSignal, Signal: 5}},
		{"SIGSTOP on its way", stop(linuxSIGSTOP, 0), Stop{Kind: KindSignal, Signal: linuxSIGSTOP}},
		{"group stop", stop(linuxSIGSTOP, eventStop), Stop{Kind: KindGroupStop, Signal: linuxSIGSTOP}},
		{"group stop of a terminal", stop(linuxSIGTSTP, eventStop), Stop{Kind: KindGroupStop, Signal: linuxSIGTSTP}},
		{"group stop of a reader", stop(linuxSIGTTIN, eventStop), Stop{Kind: KindGroupStop, Signal: linuxSIGTTIN}},
		{"group stop of a writer", stop(linuxSIGTTOU, eventStop), Stop{Kind: KindGroupStop, Signal: linuxSIGTTOU}},
		{"interrupted, or born", stop(5, eventStop), Stop{Kind: KindEventStop}},
		{"fork", stop(5, 1), Stop{Kind: KindFork}},
		{"vfork", stop(5, 2), Stop{Kind: KindVfork}},
		{"clone", stop(5, 3), Stop{Kind: KindClone}},
		{"exec", stop(5, 4), Stop{Kind: KindExec}},
		{"vfork done", stop(5, 5), Stop{Kind: KindVforkDone}},
		{"about to exit", stop(5, 6), Stop{Kind: KindExit}},
		{"seccomp", stop(5, 7), Stop{Kind: KindSeccomp}},
		{"an event of the future", stop(5, 99), Stop{Kind: KindEventStop}},
		{"system call", stop(5|sysGood, 0), Stop{Kind: KindSyscall}},
		{"continued", 0xffff, Stop{Kind: KindContinued}},
	} {
		test.want.TID = 7
		if got := Decode(7, test.status); got != test.want {
			t.Errorf("%s: %#x is %+v, want %+v", test.name, test.status, got, test.want)
		}
	}
}

// TestDecodeAll: every wait status has a kind. The status of an end has a kind that is an end.
func TestDecodeAll(t *testing.T) {
	for _, event := range []uint32{0, 1, 2, 3, 4, 5, 6, 7, 99, eventStop, 255} {
		for low := range uint32(1 << 16) {
			status := event<<16 | low
			s := Decode(1, status)
			if s.Kind == KindNone || int(s.Kind) >= len(kindNames) {
				t.Fatalf("%#x is %+v", status, s)
			}
			if ended := low&0xff != stopped && low != 0xffff; event == 0 && s.Kind.Ended() != ended {
				t.Fatalf("%#x: ended is %v", status, s.Kind.Ended())
			}
		}
	}
}

func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := range Kind(len(kindNames)) {
		if name := k.String(); name == "" || seen[name] {
			t.Errorf("kind %d is called %q", k, name)
		} else {
			seen[name] = true
		}
	}
	if got := Kind(200).String(); got != "kind 200" {
		t.Errorf("an unknown kind is called %q", got)
	}
}
