package procfs

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"ptools/internal/ptest"
)

// TestOpenMapped maps files whose names or fates are awkward and opens each
// through its mapping: the bytes must be those that are mapped.
func TestOpenMapped(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		fate func(path string) error
	}{
		{"plain", nil},
		{"with space", nil},
		{"new\nline", nil},
		{`back\012slash`, nil},
		{"looks (deleted)", nil},
		{"unlinked", os.Remove},
		{"replaced", func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.WriteFile(p, []byte("impostor"), 0o600)
		}},
	} {
		t.Run(strings.ReplaceAll(c.name, "\n", "_"), func(t *testing.T) {
			path := filepath.Join(dir, c.name)
			want := "content of " + c.name
			start := mapFile(t, path, want)
			if c.fate != nil {
				ptest.NeedMapFiles(t)
				if err := c.fate(path); err != nil {
					t.Fatal(err)
				}
			}
			if got := readMapped(t, start); got != want {
				t.Errorf("opened %q through the mapping, want %q", got, want)
			}
		})
	}
}

func mapFile(t *testing.T, path, content string) []byte {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	return b
}

// readMapped finds the mapping at b and reads its file, up to the padding.
func readMapped(t *testing.T, b []byte) string {
	t.Helper()
	maps, err := Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	start := uint64(uintptr(unsafe.Pointer(&b[0])))
	i := slices.IndexFunc(maps, func(m Map) bool { return m.Start == start })
	if i < 0 {
		t.Fatalf("no mapping at %#x", start)
	}
	root, err := OpenRoot(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f, err := root.OpenMapped(maps[i])
	if err != nil {
		t.Fatalf("%+v: %v", maps[i], err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
