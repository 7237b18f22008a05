package handle

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"ptools/internal/ptest"
	"ptools/internal/unwind"
)

// TestLayouts compares the addresses of functions with those that the programs
// print themselves, for every layout.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		args  []string
	}{
		{"pie", []string{"-pie", "-fPIE"}, nil},
		{"nopie", []string{"-no-pie", "-fno-pie"}, nil},
		{"static", []string{"-static"}, nil},
		{"static-pie", []string{"-static-pie", "-fPIE"}, nil},
		{"packed", []string{"-Wl,-z,noseparate-code"}, nil},
		{"based", []string{"-no-pie", "-fno-pie", "-Wl,-Ttext-segment=0x10000000"}, nil},
		{"leaderless", nil, []string{"leave"}},
		{"deleted", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := copied(t, ptest.BuildC(t, "testdata/layout.c", c.flags...), "a (deleted)")
			g := ptest.Start(t, append([]string{program}, c.args...)...)
			var landmark, getpid uint64
			if _, err := fmt.Sscanf(g.Line(), "0x%x 0x%x", &landmark, &getpid); err != nil {
				t.Fatal(err)
			}
			g.Ready()
			if c.name == "deleted" {
				if err := os.Remove(program); err != nil {
					t.Fatal(err)
				}
			}
			s := newSpace(t, g.PID)
			f := s.Symbolize(landmark, 0, nil)
			if f[0].Func != "landmark" || f[0].Offset != 0 || f[0].Entry != landmark {
				t.Errorf("Symbolize(landmark) = %+v", f)
			}
			if f := s.Symbolize(getpid, 0, nil); !strings.Contains(f[0].Func, "getpid") {
				t.Errorf("Symbolize(getpid) = %+v", f)
			}
			if syms := s.ByName("a.out", "landmark"); len(syms) != 1 || syms[0].Addr != landmark {
				t.Errorf("ByName(landmark) = %+v, want %#x", syms, landmark)
			}
			if m, ok := s.Find(landmark); !ok || m.Table == nil || m.Bias != mainBias(s) {
				t.Errorf("Find(landmark) = %+v, %v", m, ok)
			}
		})
	}
}

// mainBias is the main program's bias as its object has it.
func mainBias(s *Space) uint64 {
	return s.Named("a.out")[0].Bias
}

func copied(t *testing.T, from, name string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(to, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestTwoPlaces loads one library into two name spaces. While the target runs it
// loads a second library, which is then deleted. Objects that stay are not opened
// again, and new ones are found after a Refresh.
func TestTwoPlaces(t *testing.T) {
	loader := ptest.BuildC(t, "testdata/loader.c", "-ldl")
	plugin := ptest.BuildC(t, "testdata/plugin.c", "-shared", "-fPIC")
	g := ptest.Start(t, loader, plugin)
	first, second := address(t, g.Line()), address(t, g.Line())
	s := newSpace(t, g.PID)
	for _, addr := range []uint64{first, second} {
		if f := s.Symbolize(addr, 0, nil); f[0].Func != "in_plugin" || f[0].Entry != addr || f[0].Object != plugin {
			t.Errorf("Symbolize(%#x) = %+v", addr, f)
		}
	}
	if syms := s.ByName("plugin", "in_plugin"); len(syms) != 2 {
		t.Errorf("ByName finds %+v, want two", syms)
	}
	before, ok := s.Object(first)
	if other, _ := s.Object(second); !ok || other.File != before.File || other.Bias == before.Bias {
		t.Errorf("the two places are %+v and %+v", before, other)
	}

	ptest.NeedMapFiles(t)
	late := copied(t, plugin, "late one.so")
	fmt.Fprintln(g.Stdin, late)
	third := address(t, g.Line())
	if _, ok := s.Find(third); ok {
		t.Error("Find knows what has not been read yet")
	}
	if err := os.Remove(late); err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	if f := s.Symbolize(third, 0, nil); f[0].Func != "in_plugin" || f[0].Object != late {
		t.Errorf("Symbolize in the new library = %+v", f)
	}
	if after, _ := s.Object(first); after.File != before.File {
		t.Error("Refresh opened the first library again")
	}
	state := s.now.Load()
	if err := s.Refresh(); err != nil || s.now.Load() != state {
		t.Errorf("Refresh without a change made a new mapState, %v", err)
	}
}

func address(t *testing.T, line string) uint64 {
	t.Helper()
	addr, err := strconv.ParseUint(strings.TrimPrefix(line, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// TestLazy counts the files that are opened.
func TestLazy(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "testdata/layout.c"))
	var landmark uint64
	if _, err := fmt.Sscanf(g.Line(), "0x%x", &landmark); err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, g.PID)
	if n := s.files.Len(); n != 0 {
		t.Errorf("a new Space has opened %d files", n)
	}
	mapped := s.Mapped()
	s.Find(landmark)
	main := s.Named("a.out")
	if n := s.files.Len(); n != 1 {
		t.Errorf("one Find has opened %d files", n)
	}
	if len(main) != 1 || main[0].File == nil {
		t.Errorf("Named(a.out) = %+v", main)
	}
	for i, o := range s.Objects() {
		if m := mapped[i]; m.Start != o.Start || m.End != o.End || m.Path != o.Path || m.File != nil {
			t.Errorf("Mapped has %+v where Objects has %+v", m, o)
		}
	}
	if n := testing.AllocsPerRun(100, func() { s.Find(landmark) }); n != 0 {
		t.Errorf("Find allocates %v times", n)
	}
	dst := make([]Frame, 0, 8)
	s.Symbolize(landmark, Lines, dst)
	if n := testing.AllocsPerRun(100, func() { s.Symbolize(landmark, Lines, dst) }); n != 0 {
		t.Errorf("Symbolize allocates %v times", n)
	}
}

// TestJIT makes code of its own and describes it as a run-time compiler does.
func TestJIT(t *testing.T) {
	code, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(code)
	at := uint64(uintptr(unsafe.Pointer(&code[0])))
	s := newSpace(t, os.Getpid())
	if f := s.Symbolize(at, 0, nil); f[0] != (Frame{PC: at}) {
		t.Errorf("without a list: %+v", f)
	}
	if m, ok := s.Find(at); !ok || m.Special != unwind.Anonymous || m.Table != nil {
		t.Errorf("Find = %+v, %v", m, ok)
	}

	name := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	list, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	defer list.Close()
	fmt.Fprintf(list, "%x 10 LazyCompile:*first /app/x.js:1\n", at)
	s = newSpace(t, os.Getpid())
	if f := s.Symbolize(at+16, Return, nil); f[0].Func != "LazyCompile:*first /app/x.js:1" || f[0].Entry != at || f[0].Offset != 16 {
		t.Errorf("with a list: %+v", f)
	}
	fmt.Fprintf(list, "%x 20 second\n", at+16)
	if f := s.Symbolize(at+16, 0, nil); f[0].Func != "second" || f[0].Offset != 0 {
		t.Errorf("after the list has grown: %+v", f)
	}
	if f := s.Symbolize(at+100, 0, nil); f[0] != (Frame{PC: at + 100}) {
		t.Errorf("behind the functions: %+v", f)
	}
}

// TestJITOutlived: if a handle has found the code while the process lived, it names it afterwards.
func TestJITOutlived(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "jit.c"))
	g.Ready()
	name := fmt.Sprintf("/tmp/perf-%d.map", g.PID)
	list, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	var at uint64
	if _, err := fmt.Sscanf(string(list), "%x", &at); err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, g.PID)
	if m, ok := s.Find(at); !ok || m.Special != unwind.Anonymous {
		t.Errorf("Find = %+v, %v", m, ok)
	}
	os.Remove(name) // gone, as its mount would be
	g.Signal(syscall.SIGKILL)
	g.Wait()
	if f := s.Symbolize(at, 0, nil); f[0].Func != "jit_hot" {
		t.Errorf("after the end: %+v", f)
	}
}

// TestLookupWhileRefreshing has readers look up addresses in a Space that changes all the time.
func TestLookupWhileRefreshing(t *testing.T) {
	s := newSpace(t, os.Getpid())
	pc := here()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var dst [4]Frame
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, ok := s.Find(pc); !ok {
					t.Error("Find has lost its own code")
					return
				}
				if f := s.Symbolize(pc, Return, dst[:0]); !strings.HasSuffix(f[0].Func, "handle.here") {
					t.Errorf("Symbolize(here) = %+v", f)
					return
				}
			}
		})
	}
	for range 30 { // each round changes the map
		b, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_EXEC, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
		syscall.Munmap(b)
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}

func BenchmarkSpace(b *testing.B) {
	s := newSpace(b, os.Getpid())
	pc := here()
	dst := make([]Frame, 0, 8)
	b.Run("find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Find(pc)
		}
	})
	b.Run("symbolize", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Symbolize(pc, Return|Lines, dst)
		}
	})
	b.Run("refresh", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Refresh(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, err := NewSpace(os.Getpid(), nil)
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
}
