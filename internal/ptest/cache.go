package ptest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Cached returns the path of a file that make has made in the directory tmp, which is then renamed to dir. Every test
// binary on the machine uses a file again that was made for the same key. If several make the same file at a time, the
// first one is kept. Tests must not change the file.
func Cached(t testing.TB, name string, make func(tmp, dir string) error, key ...any) string {
	t.Helper()
	root, err := cacheRoot()
	if err != nil {
		t.Fatalf("ptest: %v", err)
	}
	dir := filepath.Join(root, hashOf(name, key))
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); err == nil {
		return file
	}
	tmp, err := os.MkdirTemp(root, "build-")
	if err != nil {
		t.Fatalf("ptest: %v", err)
	}
	defer os.RemoveAll(tmp)
	if err := make(tmp, dir); err != nil {
		t.Fatalf("ptest: %v", err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, err := os.Stat(file); err != nil { // else another process was faster
			t.Fatalf("ptest: %v", err)
		}
	}
	return file
}

// cacheRoot returns the directory of compiled programs, beside go's own cache.
func cacheRoot() (string, error) {
	root, err := os.UserCacheDir()
	if err != nil {
		root = os.TempDir()
	}
	root = filepath.Join(root, "ptools-test")
	return root, os.MkdirAll(root, 0o755)
}

func hashOf(name string, key []any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n", name, key)
	return hex.EncodeToString(h.Sum(nil)[:12])
}
