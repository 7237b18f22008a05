package mem

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestOpenExecStorm opens the memory of a process at any moment of execves by threads other than the leader, as root and
// as the process's user. During part of each execve the leader is a zombie, whose files belong to root.
func TestOpenExecStorm(t *testing.T) {
	t.Run("same rights", func(t *testing.T) {
		t.Parallel()
		openStorm(t, nil)
	})
	t.Run("ordinary user", func(t *testing.T) {
		t.Parallel()
		ptest.NeedUsers(t)
		openStorm(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ptest.Nobody, Gid: ptest.Nobody}})
	})
}

var errReadOnly = errors.New("not writable")

func openStorm(t *testing.T, attr *syscall.SysProcAttr) {
	dir, err := os.MkdirTemp("", "public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := os.ReadFile(ptest.BuildC(t, "execstorm.c"))
	if err != nil || os.Chmod(dir, 0o755) != nil {
		t.Fatal("no copy for another user: ", err)
	}
	exe := filepath.Join(dir, "execstorm")
	ptest.WriteProgram(t, exe, b)
	g := ptest.StartWith(t, &ptest.Options{Attr: attr}, exe, "-T", "-t", "0")
	g.Ready()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends
		if attr != nil {
			// For this thread only; the library's functions would change all threads.
			for _, nr := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
				if _, _, e := unix.RawSyscall(nr, ptest.Nobody, ptest.Nobody, ptest.Nobody); e != 0 {
					t.Error(e)
					return
				}
			}
		}
		errs, opened := map[error]int{}, 0
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			m, err := Open(g.PID)
			if err != nil {
				errs[err]++
				continue
			}
			opened++
			if !m.Writable() {
				errs[errReadOnly]++
			}
			m.Close()
		}
		t.Logf("opened %d times", opened)
		if len(errs) != 0 || opened == 0 {
			t.Errorf("opened %d times, %v", opened, errs)
		}
	}()
	<-done
	if _, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v", state)
	}
}
