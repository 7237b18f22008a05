package ptrace

import (
	"encoding/binary"
	"fmt"
	"os"
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
	t.Run("restarts", func(t *testing.T) {
		g := startCat(t)
		x := newTracer(t)
		x.seize(g.PID, 0)
		awaitCall(g, g.PID, unix.SYS_READ)
		x.halt(g.PID)
		r := x.regs(g.PID)
		if r.SyscallNr != noSyscall || r.X[numberReg] != unix.SYS_READ || r.X[0] != 0 || !isCall(t, g.PID, r.Pc) {
			t.Errorf("number %d, x8 %d, x0 %#x", int64(r.SyscallNr), r.X[numberReg], r.X[0])
		}
		x.must(Cont(g.PID, 0))
		say(t, g)
		if got := g.Line(); got != "hello" {
			t.Errorf("cat answers %q", got)
		}
	})
	t.Run("returns", func(t *testing.T) {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "blockers.c"), "-k", "epoll_wait")
		g.Ready()
		x := newTracer(t)
		for _, tid := range g.Threads() {
			x.seize(tid, 0)
		}
		g.WaitFor("an interrupted epoll_pwait", func() bool {
			for _, tid := range g.Threads() {
				if systemCall(g.PID, tid) != unix.SYS_EPOLL_PWAIT {
					continue
				}
				x.halt(tid)
				r := x.regs(tid)
				x.must(Cont(tid, 0))
				if syscall.Errno(-r.X[0]) == unix.EINTR { // else its time was up
					if r.SyscallNr != noSyscall || r.X[numberReg] != unix.SYS_EPOLL_PWAIT || !isCall(t, g.PID, r.Pc-SyscallLength) {
						t.Errorf("number %d, x8 %d", int64(r.SyscallNr), r.X[numberReg])
					}
					return true
				}
			}
			return false
		})
	})
}

// isCall reports whether there is an svc at an address.
func isCall(t *testing.T, pid int, addr uint64) bool {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var code [a64.Size]byte
	_, err = f.ReadAt(code[:], int64(addr))
	return err == nil && a64.IsSyscall(binary.LittleEndian.Uint32(code[:]))
}
