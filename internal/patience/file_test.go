package patience

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(file, 4); string(b) != "text" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	for path, want := range map[string]string{file: "larger than 3 bytes", fifo: "is not a regular file", dir: "is not a regular file", "/dev/zero": "is not a regular file", filepath.Join(dir, "none"): "no such file"} {
		if _, err := ReadFile(path, 3); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
