package handle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// The target "hidden" is the first process of its own pid and mount name space.
// It covers the directory of its first argument with a file system that no other
// process sees. It copies the program of its second argument there, and executes
// the copy.
var _ = ptest.Helper("hidden", func() {
	dir, program := os.Args[1], os.Args[2]
	b, err := os.ReadFile(program)
	if err == nil {
		err = syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	}
	if err == nil {
		err = syscall.Mount("none", dir, "tmpfs", 0, "")
	}
	hidden := filepath.Join(dir, "hidden")
	if err == nil {
		err = os.WriteFile(hidden, b, 0o700)
	}
	if err == nil {
		err = syscall.Exec(hidden, []string{hidden}, nil)
	}
	fmt.Println(err)
})

// TestOtherNamespace looks into a kind of container. Files are opened where the
// process sees them, and another file of the same name outside is left alone.
func TestOtherNamespace(t *testing.T) {
	ptest.NeedNamespaces(t, "-pfm")
	dir := t.TempDir()
	outside := filepath.Join(dir, "hidden")
	if err := os.WriteFile(outside, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := ptest.StartWith(t, &ptest.Options{
		Env:  []string{"PTEST_HELPER=hidden"},
		Attr: &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID},
	}, exe, dir, ptest.BuildC(t, "testdata/layout.c"))
	var landmark uint64
	if _, err := fmt.Sscanf(g.Line(), "0x%x", &landmark); err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, g.PID)
	if f := s.Symbolize(landmark, 0, nil); f[0].Func != "landmark" || f[0].Object != outside {
		t.Errorf("Symbolize = %+v", f)
	}
	if s.source.shared {
		t.Error("its root is taken for ours")
	}

	inside := fmt.Sprintf("/proc/%d/root", g.PID)
	if f, err := s.source.OpenDebug(outside); err != nil {
		t.Errorf("OpenDebug: %v", err)
	} else {
		f.Close()
	}
	s.Close()
	f, err := s.source.OpenDebug(outside) // the symbols of another process may still need a file
	if err != nil {
		t.Fatalf("OpenDebug after Close: %v", err)
	}
	defer f.Close()
	got, err1 := f.Stat()
	want, err2 := os.Stat(inside + outside)
	if err1 != nil || err2 != nil || !os.SameFile(got, want) {
		t.Errorf("OpenDebug opened another file: %v, %v", err1, err2)
	}
	g.Kill()
	g.Wait()
	if f, err := s.source.OpenDebug(outside); err == nil {
		t.Error("OpenDebug of a dead process's file opens another")
		f.Close()
	}
}

// TestNoName runs a program that has no name anywhere: a memfd.
func TestNoName(t *testing.T) {
	ptest.Need(t, "python3")
	program := ptest.BuildC(t, "testdata/layout.c")
	script := `import os, sys
fd = os.memfd_create("nowhere (deleted)")
os.write(fd, open(sys.argv[1], "rb").read())
os.execve(fd, ["nowhere"], {})`
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	g := ptest.Start(t, python, "-c", script, program)
	var landmark uint64
	if _, err := fmt.Sscanf(g.Line(), "0x%x", &landmark); err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, g.PID)
	f := s.Symbolize(landmark, 0, nil)
	if f[0].Func != "landmark" || !strings.HasPrefix(f[0].Object, "/memfd:nowhere") {
		t.Errorf("Symbolize = %+v", f)
	}
}
