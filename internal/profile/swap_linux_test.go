package profile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestWriteFileSwapped: an ordinary user swaps the name that root writes to, in a sticky directory, between a file of its
// own and a symbolic link to a file of root's. That file keeps its contents and its permissions.
func TestWriteFileSwapped(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root and another user")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "sticky")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	var stop atomic.Bool
	swapped := make(chan int)
	go func() { // ended and awaited below; its thread ends with it
		runtime.LockOSThread()
		swaps := 0
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); e == 0 {
			for ; !stop.Load(); swaps++ {
				os.Remove(out)
				if swaps%2 == 0 {
					os.Symlink(secret, out)
				} else {
					os.WriteFile(out, nil, 0o777)
				}
			}
		}
		swapped <- swaps
	}()
	refused := 0
	for range ptest.Rounds(100, 300, 5000) {
		if err := CheckFile(out); err != nil {
			refused++
		}
		if err := WriteFile(out, hello); errors.Is(err, errForeignLink) {
			refused++
		}
		os.Remove(out) // the other user may not
	}
	stop.Store(true)
	if n := <-swapped; n == 0 || refused == 0 {
		t.Errorf("%d swaps, %d refusals: no race was run", n, refused)
	}
	info, err := os.Stat(secret)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "root's" || info.Mode() != 0o600 {
		t.Errorf("the file has %q, mode %v: %v", b, info.Mode(), err)
	}
}

// TestWriteFileForeignLink: a link of another user is followed only in a directory that others may not write to.
func TestWriteFileForeignLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root and another user")
	}
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link"), filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(link, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode fs.FileMode
		want error
	}{{0o755, nil}, {0o777, errForeignLink}, {0o777 | fs.ModeSticky, errForeignLink}, {0o775, errForeignLink}} {
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(link, hello); !errors.Is(err, c.want) {
			t.Errorf("mode %v: %v, want %v", c.mode, err, c.want)
		}
	}
	for _, path := range []string{"/dev/stdout", "/dev/fd/1", "/dev/null", "/proc/self/fd/1"} {
		if err := CheckFile(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
