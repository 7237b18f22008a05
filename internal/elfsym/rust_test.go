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

// TestOldRust: identifiers of Rust's first mangling scheme keep the underscores that they begin with.
func TestOldRust(t *testing.T) {
	for raw, want := range map[string]string{
		"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17hb8e0473d96dacc95E":               "std::sys::backtrace::__rust_begin_short_backtrace",
		"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17hb8e0473d96dacc95E.llvm.7":        "std::sys::backtrace::__rust_begin_short_backtrace",
		"_ZN1a2_b1_1c17hb8e0473d96dacc95E":                                                      "a::_b::_::c",
		"_ZN55_$LT$a..B$u20$as$u20$core..ops..drop..Drop$LT$T$GT$$GT$4drop17h0123456789abcdefE": "<a::B as core::ops::drop::Drop<T>>::drop",
		"_ZN2ns1_3fooE":               "ns::_::foo",                  // C++
		"_ZN2ns9_17habcdeE":           "ns::_17habcde",               // C++
		"_ZN99_a17hb8e0473d96dacc95E": "_ZN99_a17hb8e0473d96dacc95E", // no name
	} {
		if got := demangled(raw); got != want {
			t.Errorf("%s is %s, want %s", raw, got, want)
		}
	}
}
