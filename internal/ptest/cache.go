package ptest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Cached returns the path of a file that make has made in the directory tmp, which is called dir afterwards. What was
// made once for the same key is used again by every test binary on the machine. Several may make the same at once:
// the first one wins. Tests must not change the file.
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

// cacheRoot returns the directory of what was compiled, beside go's own cache.
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
