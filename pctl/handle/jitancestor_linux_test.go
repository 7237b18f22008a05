package handle

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"ptools/internal/ptest"
)

// TestJITBeforeFork: code that a process has inherited has the names of its parent's list, as long as it is the same code.
func TestJITBeforeFork(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "testdata/jitfork.c"))
	var child int
	var at uint64
	if _, err := fmt.Sscanf(g.Line(), "%d %x", &child, &at); err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, child)
	if f := s.Symbolize(at+4, 0, nil); f[0].Func != "jit_kept" || f[0].Entry != at || f[0].Offset != 4 {
		t.Errorf("inherited code: %+v", f)
	}
	if f := s.Symbolize(at+68, 0, nil); f[0].Func != "" {
		t.Errorf("code that was replaced: %+v", f)
	}
	if f := s.Symbolize(at+32, 0, nil); f[0].Func != "" {
		t.Errorf("between functions: %+v", f)
	}
}

// TestMappedData: an address of code in a mapped file that is not ELF, as the core of a Lisp, is its offset in the file.
func TestMappedData(t *testing.T) {
	core, err := os.Create(filepath.Join(t.TempDir(), "lisp.core"))
	if err == nil {
		err = core.Truncate(3 << 12)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	code, err := syscall.Mmap(int(core.Fd()), 1<<12, 1<<12, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(code)
	at := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(code))))
	f := newSpace(t, os.Getpid()).Symbolize(at+0x123, 0, nil)
	if want := (Frame{PC: at + 0x123, Object: core.Name(), Offset: 0x1123}); len(f) != 1 || f[0] != want {
		t.Errorf("%+v, want %+v", f, want)
	}
}
