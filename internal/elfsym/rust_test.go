package elfsym

import (
	"path/filepath"
	"testing"
)

// TestRustNames finds functions by their names in the source, in both
// mangling schemes.
func TestRustNames(t *testing.T) {
	t.Setenv("RUSTC_BOOTSTRAP", "1") // a stable compiler knows the old scheme, but hides it
	for _, scheme := range []string{"legacy", "v0"} {
		t.Run(scheme, func(t *testing.T) {
			f := open(t, build(t, "rustc", "-O", "-g", "--crate-name=names", "-Zunstable-options",
				"-Csymbol-mangling-version="+scheme, "testdata/names.rs"), nil)
			for _, name := range []string{
				"names::main",
				"names::shapes::total",
				"<names::shapes::Square as names::shapes::Area>::area",
			} {
				s := f.ByName(name)
				if len(s) != 1 || s[0].Kind != Func {
					t.Errorf("%s is %+v", name, s)
					continue
				}
				if got, ok := f.Symbol(s[0].Addr + 1); !ok || got != s[0] || got.Name == got.Raw {
					t.Errorf("the address of %s is %+v", name, got)
				}
				if l := f.Lines(s[0].Addr, nil); len(l) == 0 || filepath.Base(l[len(l)-1].File) != "names.rs" {
					t.Errorf("the line of %s is %+v", name, l)
				}
			}
		})
	}
}
