package program

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
	"ptools/internal/ptest"
	"ptools/internal/rtld"
	"ptools/pctl/handle"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// running is a program that runs, and what it says of itself.
type running struct {
	*ptest.Target
	*Image
	main, one uint64
}

// run starts the program, built with flags.
func run(t *testing.T, flags ...string) *running {
	t.Helper()
	r := &running{Target: ptest.Start(t, ptest.BuildC(t, "testdata/program.c", append(flags, "-ldl")...))}
	line, result := r.Line(), 0
	if n, err := fmt.Sscanf(line, "0x%x 0x%x %d", &r.main, &r.one, &result); n != 3 || result != 1 {
		t.Fatalf("printed %q: %v", line, err)
	}
	m, err := mem.Open(r.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	space, err := handle.NewSpace(r.PID, elfsym.NewCache(8))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(space.Close)
	r.Image = New(r.PID, space, m, nil)
	return r
}

// load has the program unload what it has loaded, and load an object, or none.
func (r *running) load(t *testing.T, name string) {
	t.Helper()
	io.WriteString(r.Stdin, name+"\n")
	if line := r.Line(); line != "ok" {
		t.Fatal(line)
	}
}

// builds are programs with a linker.
var builds = map[string][]string{
	"PIE":      {"-pie", "-fPIE"},
	"lazy":     {"-pie", "-fPIE", "-Wl,-z,lazy"},
	"not PIE":  {"-no-pie", "-fno-pie"},
	"stripped": {"-no-pie", "-fno-pie", "-s"},
}

// TestDynamic finds main, the address that the linker calls, and what the linker has loaded.
func TestDynamic(t *testing.T) {
	for name, flags := range builds {
		t.Run(name, func(t *testing.T) {
			r := run(t, flags...)
			if addr, ok := r.Main(r.Entry(), r.mem); !ok || addr != r.main {
				t.Errorf("main at %#x, %v; it says %#x", addr, ok, r.main)
			}
			if addr, err := r.FindLinker(); err != nil || !r.IsText(addr) {
				t.Errorf("the linker calls %#x: %v", addr, err)
			}
			if r.Is32Bit() || r.IsText(0) || !r.IsText(r.Entry()) {
				t.Errorf("32 bits: %v, entry %#x", r.Is32Bit(), r.Entry())
			}
			r.Follow()
			listed := r.Listed()
			if len(listed) < 3 || !r.IsExecutable(listed[0]) || r.IsExecutable(listed[1]) {
				t.Errorf("listed: %+v", listed)
			}
			if entry, ok := r.LoadedEntry(); !ok || entry != r.Entry() {
				t.Errorf("loaded program begins at %#x, %v, the process at %#x", entry, ok, r.Entry())
			}
			r.loads(t)
			r.Finish()
		})
	}
}

// loads follows an object that is loaded and unloaded.
func (r *running) loads(t *testing.T) {
	t.Helper()
	const library = "libm.so.6"
	if come, gone := r.Remapped(); len(come) < 3 || len(gone) != 0 {
		t.Errorf("mapped from the start: %d, unmapped: %d", len(come), len(gone))
	}
	for _, step := range []struct{ load, loaded, unloaded string }{{"", "", ""}, {library, library, ""}, {"", "", library}} {
		r.load(t, step.load)
		c, ok := r.LinkerCalled()
		if got := bases(c.Loaded, rtldName); !ok || got != step.loaded {
			t.Errorf("load %q: loaded %q, %v", step.load, got, ok)
		}
		if got := bases(c.Unloaded, rtldName); got != step.unloaded {
			t.Errorf("load %q: unloaded %q", step.load, got)
		}
		if err := r.space.Refresh(); err != nil {
			t.Fatal(err)
		}
		come, gone := r.Remapped()
		if got := bases(come, mappedName); got != step.loaded {
			t.Errorf("load %q: mapped %q", step.load, got)
		}
		if got := bases(gone, mappedName); got != step.unloaded {
			t.Errorf("load %q: unmapped %q", step.load, got)
		}
		if named := r.Named(library, come); len(named) != len(come) {
			t.Errorf("load %q: %d objects of %d by name", step.load, len(named), len(come))
		}
	}
}

func rtldName(o rtld.Object) string     { return o.Name }
func mappedName(o handle.Object) string { return o.Path }

// bases returns the file names of objects.
func bases[T any](objects []T, name func(T) string) string {
	s := ""
	for _, o := range objects {
		s += filepath.Base(name(o))
	}
	return s
}

// TestStatic: a static program has no linker and no list, and a main function.
func TestStatic(t *testing.T) {
	for name, flags := range map[string][]string{"static": {"-static"}, "static-PIE": {"-static-pie", "-fPIE"}} {
		t.Run(name, func(t *testing.T) {
			r := run(t, flags...)
			for range 2 { // the second answer is remembered
				if _, err := r.FindLinker(); !errors.Is(err, rtld.ErrNoLinker) {
					t.Error(err)
				}
			}
			if listed := r.Listed(); len(listed) != 0 {
				t.Errorf("listed: %+v", listed)
			}
			if addr, ok := r.Main(r.Entry(), r.mem); !ok || addr != r.main {
				t.Errorf("main at %#x, %v; it says %#x", addr, ok, r.main)
			}
		})
	}
}

// TestImplementations: an indirect function is the function that its callers were bound to.
func TestImplementations(t *testing.T) {
	for name, flags := range map[string][]string{"PIE": {"-pie", "-fPIE"}, "not PIE": {"-no-pie", "-fno-pie"}, "static": {"-static"}} {
		t.Run(name, func(t *testing.T) {
			r := run(t, flags...)
			exe, ok := r.space.Object(r.Entry())
			if !ok || exe.File == nil {
				t.Fatal("no executable")
			}
			for _, sym := range exe.File.ByName("indirect") {
				if sym.Kind != elfsym.IFunc {
					t.Errorf("%+v is no indirect function", sym)
				}
				if got := r.Implementations(exe, sym); !slices.Equal(got, []uint64{r.one}) {
					t.Errorf("bound to %#x, it says %#x", got, r.one)
				}
			}
		})
	}
}

// TestUnreadable: nothing is found in a program that cannot be read, and nothing fails.
func TestUnreadable(t *testing.T) {
	r := run(t)
	space := handle.Unreadable(r.PID, elfsym.NewCache(1))
	t.Cleanup(space.Close)
	i := Unreadable(r.PID, space, r.Image)
	if _, err := i.FindLinker(); !errors.Is(err, rtld.ErrNoLinker) {
		t.Error(err)
	}
	if _, ok := i.Main(i.Entry(), i.mem); ok {
		t.Error("it has main")
	}
	if _, ok := i.LoadedEntry(); ok {
		t.Error("the linker has loaded it")
	}
	if _, ok := i.LinkerCalled(); ok {
		t.Error("its linker has a list")
	}
	if come, gone := i.Remapped(); len(come)+len(gone) != 0 || len(i.Listed()) != 0 || i.IsText(r.main) || len(i.Auxv()) != 0 {
		t.Error("something is mapped")
	}
}

// TestDifference compares lists of the linker and of the map, whatever order they are in.
func TestDifference(t *testing.T) {
	a, b, c, d := rtld.Object{LinkMap: 1}, rtld.Object{LinkMap: 2}, rtld.Object{LinkMap: 3}, rtld.Object{LinkMap: 4}
	for _, x := range []struct{ before, after, loaded, unloaded []rtld.Object }{
		{nil, nil, nil, nil},
		{nil, []rtld.Object{a, b}, []rtld.Object{a, b}, nil},
		{[]rtld.Object{a, b}, nil, nil, []rtld.Object{a, b}},
		{[]rtld.Object{a, b, c}, []rtld.Object{a, c, d}, []rtld.Object{d}, []rtld.Object{b}},
		{[]rtld.Object{a, b, c}, []rtld.Object{c, b, a}, nil, nil},
	} {
		if got := difference(x.before, x.after); !slices.Equal(got.Loaded, x.loaded) || !slices.Equal(got.Unloaded, x.unloaded) {
			t.Errorf("%v to %v: %+v", x.before, x.after, got)
		}
	}
	at := func(starts ...uint64) (objects []handle.Object) {
		for _, s := range starts {
			objects = append(objects, handle.Object{Start: s, End: s + 1, Path: "x"})
		}
		return objects
	}
	other := at(2)
	other[0].Path = "y"
	for _, x := range []struct{ before, after, come, gone []handle.Object }{
		{nil, at(1, 2), at(1, 2), nil},
		{at(1, 2, 3), at(2), nil, at(1, 3)},
		{at(2), other, other, at(2)},
		{at(1, 4), at(2, 3, 4), at(2, 3), at(1)},
	} {
		come, gone := mappedChanges(x.before, x.after)
		if !slices.Equal(come, x.come) || !slices.Equal(gone, x.gone) {
			t.Errorf("%v to %v: %v, %v", x.before, x.after, come, gone)
		}
	}
}
