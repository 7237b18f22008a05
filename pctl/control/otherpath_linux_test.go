package control

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestOtherPath: a file of an overlay and the one below it are two files in the map, and one for the kernel's uprobes. A
// breakpoint in both says so, and takes no trap of its own for another tracer's. int3s can be set in both.
func TestOtherPath(t *testing.T) {
	needUprobes(t)
	dir := t.TempDir()
	path := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lib, err := os.ReadFile(ptest.BuildC(t, "testdata/otherpath.c", "-shared", "-fPIC", "-DLIBRARY"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("lower", "lib.so"), lib, 0o755); err != nil {
		t.Fatal(err)
	}
	options := "lowerdir=" + path("lower") + ",upperdir=" + path("upper") + ",workdir=" + path("work")
	if err := syscall.Mount("overlay", path("merged"), "overlay", 0, options); err != nil {
		t.Skipf("mount of an overlay: %v", err)
	}
	t.Cleanup(func() { // detached: the files of closed probes stay open for a moment
		if err := syscall.Unmount(path("merged"), syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "testdata/otherpath.c", "-ldl"), path("lower", "lib.so"), path("merged", "lib.so"))
	g.Ready()
	c := attach(t, g.PID, nil)
	if _, err := c.BreakSymbol(bg, "", "otherpath_called", 0, func(*Hit) {}); err != nil && !errors.Is(err, ErrOtherPath) {
		t.Errorf("with uprobes: %v", err)
	}
	release(t, c, ModeRun)
	c = attach(t, g.PID, &Options{Trap: TrapInt3})
	s, err := c.BreakSymbol(bg, "", "otherpath_called", 0, func(*Hit) {})
	if err != nil {
		t.Fatalf("with int3s: %v", err)
	}
	io.WriteString(g.Stdin, "\n")
	if g.Line() != "called" || s.Hits() != 2 {
		t.Errorf("with int3s: %d hits of 2", s.Hits())
	}
	release(t, c, ModeRun)
	g.Stdin.Close()
	g.Wait()
}
