package rtld

import (
	"errors"
	"slices"
	"testing"

	"ptools/internal/ptest"
)

// TestFindRunning: the objects, and the address of main, are found in every kind of running dynamic program.
func TestFindRunning(t *testing.T) {
	for _, c := range dynamics {
		t.Run(c.name, func(t *testing.T) {
			p, main := run(t, c.build(t, "testdata/program.c", c.flags...))
			l, err := Find(p.mem, p.auxv, nil)
			if err != nil || !l.Published {
				t.Fatalf("%+v, %v", l, err)
			}
			if state, ok := p.symbols(t, p.auxv[atBase])("_dl_debug_state"); !ok || l.Break != state {
				t.Errorf("break at %#x, _dl_debug_state at %#x", l.Break, state)
			}
			state, objects, err := Read(p.mem, l.Debug)
			if err != nil || state != Consistent || len(objects) < 2 {
				t.Fatalf("%v, %+v, %v", state, objects, err)
			}
			if exe := objects[0]; (exe.Base != 0) != c.pie || (exe.Name != "") != c.named {
				t.Errorf("executable: %+v", exe)
			}
			if !slices.ContainsFunc(objects, func(o Object) bool { return o.Base == p.auxv[atBase] }) {
				t.Errorf("no linker at %#x in %+v", p.auxv[atBase], objects)
			}
			if got, ok := MainFromEntry(p.mem, p.auxv[9]); !ok || got != main {
				t.Errorf("main at %#x, %v, want %#x", got, ok, main)
			}
			p.Finish()
		})
	}
}

// TestFindStatic: static programs have no linker, and the address of main is found.
func TestFindStatic(t *testing.T) {
	for _, c := range statics {
		t.Run(c.name, func(t *testing.T) {
			p, main := run(t, c.build(t, "testdata/program.c", c.flags...))
			if l, err := Find(p.mem, p.auxv, nil); !errors.Is(err, ErrNoLinker) {
				t.Errorf("%+v, %v", l, err)
			}
			if got, ok := MainFromEntry(p.mem, p.auxv[9]); !ok || got != main {
				t.Errorf("main at %#x, %v, want %#x", got, ok, main)
			}
		})
	}
}

// TestFindCommand: a linker that was run as a command is found by its own symbols.
func TestFindCommand(t *testing.T) {
	exe := ptest.BuildC(t, "testdata/program.c", "-pie", "-fPIE")
	p, main := run(t, "/lib64/ld-linux-x86-64.so.2", exe)
	im, err := readImage(p.mem, p.auxv)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Find(p.mem, p.auxv, p.symbols(t, im.bias))
	if err != nil || l.Published {
		t.Fatalf("%+v, %v", l, err)
	}
	_, objects, err := Read(p.mem, l.Debug)
	if err != nil || len(objects) < 3 || objects[0].Base > main || objects[0].Dynamic < main {
		t.Errorf("main at %#x: %+v, %v", main, objects, err)
	}
}

// TestRead: the list has the effect of dlopen, dlmopen and dlclose when they return.
func TestRead(t *testing.T) {
	for _, c := range []libc{dynamics[0], dynamics[1], dynamics[5]} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := run(t, c.build(t, "testdata/program.c", c.flags...))
			l, err := Find(p.mem, p.auxv, nil)
			if err != nil {
				t.Fatal(err)
			}
			read := func() map[uint64]Object {
				t.Helper()
				state, objects, err := Read(p.mem, l.Debug)
				if err != nil || state != Consistent {
					t.Fatalf("%v, %v", state, err)
				}
				byMap := map[uint64]Object{}
				for _, o := range objects {
					byMap[o.LinkMap] = o
				}
				return byMap
			}
			before := read()
			path := plugin(t, c.build)
			handle := p.ask(t, "open %s", path)
			if o := read()[handle]; o.Name != path || o.Base == 0 || o.Dynamic <= o.Base || o.Namespace != 0 {
				t.Errorf("opened: %+v", o)
			}
			if !slices.Contains(c.flags, "-DNAMESPACES") {
				return // musl's dlclose unmaps nothing
			}
			for ns := 1; ns <= 2; ns++ {
				handle := p.ask(t, "mopen %s", path)
				if o := read()[handle]; o.Name != path || o.Namespace != ns {
					t.Errorf("opened in a namespace of its own: %+v", o)
				}
			}
			for range 3 {
				p.Stdin.Write([]byte("close\n"))
				if line := p.Line(); line != "ok" {
					t.Fatalf("answered %q", line)
				}
			}
			if after := read(); len(after) != len(before) {
				t.Errorf("%d objects before, %d after:\n%+v", len(before), len(after), after)
			}
		})
	}
}
