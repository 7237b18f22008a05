package mem

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestFileMode: with CAP_SYS_PTRACE alone the mode of /proc/PID/mem of another user's process denies the file. The
// memory is read all the same, and found to be gone after an exec. Nothing is written.
func TestFileMode(t *testing.T) {
	c := start(t)
	asAnother(t, func() {
		name := "/proc/self/mem"
		if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
			f.Close()
			t.Fatalf("%s was opened", name)
		}
		c.mem.Close()
		m, err := Open(c.mem.pid)
		if err != nil {
			t.Fatal(err)
		}
		c.mem = m
		b := make([]byte, 3*page)
		for _, r := range []struct {
			off, size, want int
			err             error
		}{
			{100, page, page, nil},
			{0, 3 * page, 2 * page, syscall.EFAULT}, // PROT_NONE
			{3 * page, 8, 0, syscall.EFAULT},
			{4 * page, 2 * page, 2 * page, nil},
		} {
			if n, err := m.ReadAt(b[:r.size], int64(c.at)+int64(r.off)); n != r.want || err != r.err {
				t.Errorf("ReadAt(%d bytes at %d) = %d, %v; want %d, %v", r.size, r.off, n, err, r.want, r.err)
			}
			check(t, b[:r.want], r.off)
		}
		dst := [][]byte{make([]byte, 16), make([]byte, 16), make([]byte, 16)}
		n, err := m.ReadVec(dst, []uint64{c.at, c.at + 2*page, c.at + 4*page})
		if n != 32 || err != syscall.EFAULT || len(dst[1]) != 0 {
			t.Errorf("ReadVec = %d, %v", n, err)
		}
		if n, err := m.WriteAt(b[:8], int64(c.at)); n != 0 || err != syscall.EACCES || m.Writable() {
			t.Errorf("WriteAt = %d, %v, want EACCES; writable %v", n, err, m.Writable())
		}
		if f, err := m.File(); err == nil {
			f.Close()
			t.Error("there is a file")
		}
		if m.Stale() {
			t.Error("stale from the beginning")
		}
		c.say("exec")
		c.at = c.number()
		if !m.Stale() {
			t.Error("not stale after an exec")
		}
	})
	c.cmd.Process.Kill()
	c.cmd.Wait()
	if !c.mem.Stale() {
		t.Error("the memory of a dead process is not stale")
	}
}

// asAnother calls f on a thread that has another user's access to files, and root's to processes.
func asAnother(t *testing.T, f func()) {
	t.Helper()
	ptest.NeedUsers(t)
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // for good: the thread ends
		defer close(done)
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}
