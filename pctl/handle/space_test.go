package handle

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/ptest"
	"ptools/internal/unwind"
)

func TestMain(m *testing.M) { ptest.Main(m) }

func newSpace(t testing.TB, pid int) *Space {
	t.Helper()
	files := elfsym.NewCache(32)
	s, err := NewSpace(pid, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); files.Close() })
	return s
}

//go:noinline
func here() uint64 {
	pc, _, _, _ := runtime.Caller(0)
	return uint64(pc)
}

// TestSelf looks this very function up.
func TestSelf(t *testing.T) {
	s := newSpace(t, os.Getpid())
	pc := here()
	frames := s.Symbolize(pc, Return|Lines, nil)
	if len(frames) != 1 || !strings.HasSuffix(frames[0].Func, "handle.here") ||
		filepath.Base(frames[0].File) != "space_test.go" || frames[0].Line == 0 || frames[0].Entry+frames[0].Offset != pc {
		t.Errorf("Symbolize(here) = %+v", frames)
	}
	m, ok := s.Find(pc)
	if !ok || pc < m.Start || pc >= m.End || m.Table == nil || m.Special != unwind.None {
		t.Errorf("Find(here) = %+v, %v", m, ok)
	}
	if _, ok := s.Find(8); ok {
		t.Error("something is at address 8")
	}
	if got := s.Symbolize(8, 0, nil); len(got) != 1 || got[0] != (Frame{PC: 8}) {
		t.Errorf("Symbolize(8) = %+v", got)
	}
	main := s.Named("a.out")[0]
	exe, _ := os.Executable()
	if main.Path != exe || main.File == nil {
		t.Errorf("the main program is %+v", main)
	}
	if o, ok := s.Object(pc); !ok || o != main {
		t.Errorf("Object(here) = %+v, %v", o, ok)
	}
	for _, name := range []string{"", "a.out", main.Name, main.Path} {
		syms := s.ByName(name, "ptools/pctl/handle.here")
		if len(syms) != 1 || syms[0].Addr != frames[0].Entry || syms[0].Object != main {
			t.Errorf("ByName(%q) = %+v", name, syms)
		}
	}
	if syms := s.ByName("libnone", "ptools/pctl/handle.here"); syms != nil {
		t.Errorf("ByName in no object = %+v", syms)
	}
}

func TestVDSO(t *testing.T) {
	s := newSpace(t, os.Getpid())
	for _, o := range s.Objects() {
		if o.Path != vdsoName {
			continue
		}
		if o.File == nil {
			t.Fatal("the vDSO is not opened")
		}
		syms := s.ByName(vdsoName, "clock_gettime")
		if len(syms) == 0 {
			syms = s.ByName(vdsoName, "__vdso_clock_gettime")
		}
		if len(syms) == 0 {
			t.Fatal("no clock_gettime in the vDSO")
		}
		m, ok := s.Find(syms[0].Addr)
		if !ok || m.Special != unwind.VDSO || m.Table == nil {
			t.Errorf("Find in the vDSO = %+v, %v", m, ok)
		}
		f := s.Symbolize(syms[0].Addr+1, 0, nil)
		if len(f) != 1 || !strings.Contains(f[0].Func, "clock_gettime") || f[0].Offset != 1 || f[0].Object != vdsoName {
			t.Errorf("Symbolize in the vDSO = %+v", f)
		}
		// The vDSO of another process has the same contents.
		for _, name := range []string{"linux-vdso.so.1", "linux-vdso.so", "linux-vdso"} {
			if n := len(s.Named(name)); n != 1 {
				t.Errorf("%d objects are called %s", n, name)
			}
		}
		other := newSpace(t, ptest.Start(t, "sleep", "1000").PID).Named(vdsoName)
		if len(other) != 1 || other[0].File != o.File {
			t.Errorf("the vDSO of another process: %+v, ours %+v", other, o)
		}
		return
	}
	t.Error("there is no vDSO")
}
