package procfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRootStaysInside opens names that lead elsewhere.
func TestRootStaysInside(t *testing.T) {
	root, err := OpenRoot(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../../../../../../.."+plain, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{plain, filepath.Join(dir, "link"), "/../.." + plain, plain[1:]} {
		f, err := root.Open(name)
		if err != nil {
			t.Errorf("Open(%q): %v", name, err)
			continue
		}
		f.Close()
	}
	for _, name := range []string{filepath.Join(dir, "fifo"), "/dev/null", dir, "/proc/self/exe", "/proc/self/root/etc/passwd"} {
		if f, err := root.Open(name); err == nil {
			t.Errorf("Open(%q) succeeded", name)
			f.Close()
		}
	}
	if !root.Ours() {
		t.Error("our own root is not ours")
	}
	if _, err := root.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of no file: %v", err)
	}
	root.Close()
	if _, err := root.Open(plain); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Open after Close: %v", err)
	}
}
