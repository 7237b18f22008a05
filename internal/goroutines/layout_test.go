package goroutines

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }

func open(t *testing.T, path string) *elfsym.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	e, err := elfsym.New(f, st.Size(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sameLayout compares the table with the debug information of a program.
func sameLayout(t *testing.T, path string) {
	t.Helper()
	f := open(t, path)
	table, ok := f.Go()
	if !ok {
		t.Fatal("no Go program")
	}
	version := table.Version()
	told, ok := described(table)
	if !ok {
		t.Fatalf("debug information of %s has no layout", version)
	}
	if known, ok := tabled(version); !ok || !reflect.DeepEqual(known, told) {
		t.Errorf("%s: the table has, %v,\n%+v\nand debug information\n%+v", version, ok, known, told)
	}
	if refs := sliceRefs(references(f, "runtime.allgadd")); len(refs) != 1 {
		t.Errorf("%s: the list may be at %x", version, refs)
	}
}

// TestLayout: debug information says what the table does.
func TestLayout(t *testing.T) { sameLayout(t, ptest.BuildGo(t, "goroutines.go")) }

// TestLayoutOfVersions is TestLayout for other versions of Go, which come as modules.
func TestLayoutOfVersions(t *testing.T) {
	if !ptest.Torture() {
		t.Skip("it loads toolchains: make torture")
	}
	source, err := filepath.Abs("../ptest/testdata/goroutines.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.18.10", "1.19.13", "1.20.14", "1.21.13", "1.22.12", "1.23.12", "1.24.9", "1.25.5"} {
		t.Run(version, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "goroutines")
			build := exec.Command("go", "build", "-o", program, source)
			build.Dir = t.TempDir()
			build.Env = append(os.Environ(), "GOTOOLCHAIN=go"+version, "GOFLAGS=")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			sameLayout(t, program)
		})
	}
}

// TestVersions: what is no plain version of Go 1 has no layout in the table.
func TestVersions(t *testing.T) {
	for version, known := range map[string]bool{
		"go1.26.1": true, "go1.26": true, "go1.18.10": true, "go1.21rc2": true, "go1.27.0": false, "go1.17.1": false, "go1.26.1 X:synctest": false,
		"go1.27-devel_0123": false, "devel go1.26-0123": false, "go1.": false, "go1.99999999999999999999": false, "": false,
	} {
		if _, ok := tabled(version); ok != known {
			t.Errorf("%q: %v", version, ok)
		}
	}
}
