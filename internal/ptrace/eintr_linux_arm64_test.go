package ptrace

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/a64"
	"ptools/internal/ptest"
)

// restartedAt is how far in front of its return address a thread is whose system call a stop has interrupted and will restart.
const restartedAt = 4

// trapCode is the si_code of a trap's SIGTRAP.
const trapCode = TrapBrkpt

// TestStoppedInCall: at an event stop the kernel has forgotten the number of the system call. A call that it restarts is about to be
// made again, with its first argument; one that returns EINTR has returned, and its first argument is lost
// (do_signal in arch/arm64/kernel/signal.c).
func TestStoppedInCall(t *testing.T) {
	for _, tt := range []struct {
		kind     string
		nr       int
		restarts bool
	}{
		{"read pipe", unix.SYS_READ, true},
		{"epoll_wait", unix.SYS_EPOLL_PWAIT, false},
	} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "blockers.c"), "-k", tt.kind)
		g.Ready()
		x := newTracer(t)
		var tid int
		g.WaitFor(fmt.Sprintf("system call %d", tt.nr), func() bool {
			for _, id := range g.Threads() {
				if systemCall(g.PID, id) == tt.nr {
					tid = id
				}
			}
			return tid != 0
		})
		x.seize(tid, 0)
		x.halt(tid)
		r := x.regs(tid)
		if r.SyscallNr != noSyscall || r.X[numberReg] != uint64(tt.nr) {
			t.Errorf("%s: number %d, x8 %d", tt.kind, int64(r.SyscallNr), r.X[numberReg])
		}
		at := r.Pc
		if !tt.restarts {
			at -= SyscallLength
			if got := syscall.Errno(-r.X[0]); got != syscall.EINTR {
				t.Errorf("%s: x0 %#x, want -EINTR", tt.kind, r.X[0])
			}
		} else if r.X[0] > 1000 {
			t.Errorf("%s: the first argument is %#x, no descriptor", tt.kind, r.X[0])
		}
		var code [a64.Size]byte
		if _, err := (Memory{tid}).ReadAt(code[:], int64(at)); err != nil || !a64.IsSyscall(binary.LittleEndian.Uint32(code[:])) {
			t.Errorf("%s: no svc at %#x: % x, %v", tt.kind, at, code, err)
		}
		x.must(Cont(tid, 0))
	}
}
