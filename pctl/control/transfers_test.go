package control

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// startTransfers starts a process whose threads move much in one call, a little at a time.
func startTransfers(t *testing.T, args ...string) *ptest.Target {
	t.Helper()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, append([]string{ptest.BuildC(t, "transfers.c")}, args...)...)
	g.Ready()
	return g
}

// shorts returns how many calls of a target have returned less than asked for.
func shorts(g *ptest.Target) (n uint64) {
	for i := range ptest.Kinds {
		n += g.Truth.Kind(i)
	}
	return n
}

// TestReleaseCutsNothing: a release interrupts no thread in what its call transfers.
func TestReleaseCutsNothing(t *testing.T) {
	g := startTransfers(t)
	rounds := ptest.Rounds(50, 200, 2000)
	for range rounds {
		c, err := Attach(bg, g.PID, nil)
		if err != nil {
			t.Fatal(err)
		}
		release(t, c, ModeRun)
		for _, tid := range g.Threads() {
			if p := tracerOf(t, g.PID, tid); p != 0 {
				t.Fatalf("thread %d is still traced by %d", tid, p)
			}
		}
	}
	if n, eintr := shorts(g), g.Truth.EINTR(); n != 0 || eintr != 0 {
		t.Errorf("in %d rounds %d calls of %d came out short, %d with EINTR", rounds, n, g.Truth.Work(), eintr)
	}
}

// tracerOf returns the tracer of one thread.
func tracerOf(t *testing.T, pid, tid int) int {
	t.Helper()
	st, err := procfs.ReadTaskStatus(pid, tid)
	if err != nil {
		t.Fatal(err)
	}
	return st.TracerPID
}

// TestReleaseWithTraps: a thread that sleeps is not interrupted while traps are taken out of the text. A thread
// that is just running may be.
func TestReleaseWithTraps(t *testing.T) {
	needX86(t)
	needUprobes(t)
	const kinds = 12
	for _, trap := range []Trap{TrapInt3, TrapUprobe} {
		t.Run(trap.String(), func(t *testing.T) {
			g := startTransfers(t, "-x", "random")
			rounds, cut := ptest.Rounds(3, 5, 50), uint64(0)
			for range rounds {
				c, err := Attach(bg, g.PID, &Options{Trap: trap})
				if err != nil {
					t.Fatal(err)
				}
				b, err := c.BreakSymbol(bg, "", "transfer", 0, func(*Hit) {})
				if err != nil || len(b.Addrs()) == 0 {
					t.Errorf("breakpoint at %#x: %v", b.Addrs(), err)
				}
				g.AwaitWork(3 * kinds) // the calls that setting it has cut are counted by then
				before := shorts(g)
				release(t, c, ModeRun)
				g.AwaitWork(3 * kinds)
				cut += shorts(g) - before
			}
			ptest.TextIntact(t, g.PID)
			t.Logf("letting go %d times cut %d calls short", rounds, cut)
			if cut > uint64(rounds*kinds/3) {
				t.Errorf("letting go %d times cut %d calls short", rounds, cut)
			}
		})
	}
}

// sockets returns why sockets of other processes cannot be had, as when a seccomp filter refuses
// pidfd_getfd(2).
func sockets(t *testing.T) error {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fds[0])
	defer syscall.Close(fds[1])
	s, err := procfs.OpenSocket(os.Getpid(), fds[0])
	if err == nil {
		return s.Close()
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
	return err
}

// TestSocketsHaveNoErrorOfOurs: a recvmmsg that a stop cuts short leaves no error in its socket.
func TestSocketsHaveNoErrorOfOurs(t *testing.T) {
	if err := sockets(t); err != nil {
		t.Skip(err)
	}
	g := startTransfers(t, "-k", "recvmmsg")
	c := attach(t, g.PID, nil)
	for shorts(g) < 20 {
		if err := c.Pause(bg, func(*Stopped) error { return nil }); err != nil {
			t.Fatal(err)
		}
		g.AwaitWork(1)
	}
	if n := g.Truth.EINTR(); n != 0 || g.Truth.Errors() != 0 {
		t.Errorf("of %d calls, %d of which came out short, %d returned an error", g.Truth.Work(), shorts(g), n)
	}
}
