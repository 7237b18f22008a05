package elfsym

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names returns the raw names of the functions that a name means, sorted.
func names(f *File, name string) string {
	var list []string
	for _, s := range f.ByName(name) {
		list = append(list, s.Raw)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestGoNames: a name without type arguments means all instances, and functions that exist only inlined are found in
// those that they were inlined into. Neither needs symbols.
func TestGoNames(t *testing.T) {
	for _, flags := range [][]string{nil, {"-ldflags=-s -w"}} {
		f := open(t, buildIn(t, "testdata/generic", slices.Concat([]string{"go", "build"}, flags)), nil)
		for name, want := range map[string]string{
			"main.sum":                "main.sum[go.shape.float64] main.sum[go.shape.int]",
			"main.sum[...]":           "main.sum[go.shape.float64] main.sum[go.shape.int]",
			"main.sum[int]":           "main.sum[go.shape.int]",
			"main.sum[string]":        "",
			"main.(*stack).push":      "main.(*stack[go.shape.int]).push main.(*stack[go.shape.string]).push",
			"main.(*stack[...]).push": "main.(*stack[go.shape.int]).push main.(*stack[go.shape.string]).push",
			"main.(*stack[int]).push": "main.(*stack[go.shape.int]).push",
			"main.(*box).inc":         "main.(*box).inc",
			"main.box.inc":            "main.(*box).inc",
			"main.main.func1":         "main.main.func1",
			"main.tiny":               "",
			"main.su":                 "",
			"sum":                     "",
			"atomic.(*Int64).Add":     names(f, "internal/runtime/atomic.(*Int64).Add"),
		} {
			if got := names(f, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if got := f.InlinedIn("main.tiny"); !slices.Equal(got, []string{"main.caller", "main.main"}) {
			t.Errorf("main.tiny is inlined in %q", got)
		}
		if got := f.InlinedIn("main.sum"); got != nil {
			t.Errorf("main.sum is inlined in %q", got)
		}
	}
}

// TestGoQuery: the path of a package, and a pointer receiver, may be left out.
func TestGoQuery(t *testing.T) {
	for _, c := range []struct {
		query, name string
		want        bool
	}{
		{"list.(*List).PushBack", "container/list.(*List).PushBack", true},
		{"list.List.PushBack", "container/list.(*List).PushBack", true},
		{"container/list.(*List).PushBack", "container/list.(*List).PushBack", true},
		{"other/list.(*List).PushBack", "container/list.(*List).PushBack", false},
		{"list.(*List).Push", "container/list.(*List).PushBack", false},
		{"yaml.v2.Unmarshal", "gopkg.in/yaml%2ev2.Unmarshal", true},
		{"gopkg.in/yaml.v2.Unmarshal", "gopkg.in/yaml%2ev2.Unmarshal", true},
		{"maps.Keys", "maps.Keys[go.shape.map[string]example.com/x.T]", true},
		{"slices.Sort[...]", "slices.Sort[go.shape.[]int,go.shape.int]", true},
		{"slices.Sort[[]int,int]", "slices.Sort[go.shape.[]int,go.shape.int]", true},
		{"slices.Sort[[]string,string]", "slices.Sort[go.shape.[]int,go.shape.int]", false},
		{"slices.Sort[...].func1", "slices.Sort[go.shape.[]int,go.shape.int].func1", true},
		{"slices.Sort", "slices.Sort[go.shape.[]int,go.shape.int].func1", false},
	} {
		q, ok := newGoQuery(c.query)
		if got := ok && q.fits(c.name); got != c.want {
			t.Errorf("%s for %s: %v", c.query, c.name, got)
		}
	}
}

// TestClones: the name of a C function means its clones too. Functions that were inlined are found in those that they
// were inlined into.
func TestClones(t *testing.T) {
	src, err := filepath.Abs("testdata/clones.c")
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, build(t, "gcc", "-O2", "-g", src), nil)
	for name, want := range map[string]string{
		"cloned":             "cloned.constprop.0",
		"cloned.constprop.0": "cloned.constprop.0",
		"clone":              "",
		"everywhere":         "",
		"somewhere":          "somewhere",
		"first":              "first",
	} {
		if got := names(f, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"everywhere": "first second", "somewhere": "first", "first": "", "every": ""} {
		if got := strings.Join(f.InlinedIn(name), " "); got != want {
			t.Errorf("%s is inlined in %q, want %q", name, got, want)
		}
	}
	for name, base := range map[string]string{"f.isra.0.constprop.12": "f", "f.part.0": "", "f.cold": "", "f.constprop.0.cold": "", "f.0": "", "f.": "", "fg.isra.0": "", "f.llvm.123": "f"} {
		if isClone(name, "f") != (base != "") {
			t.Errorf("%s is a clone of f: %v", name, isClone(name, "f"))
		}
	}
}

// TestInlinedInCC: names with namespaces and templates.
func TestInlinedInCC(t *testing.T) {
	f := open(t, inlineProgram(t, "-g"), nil)
	for name, want := range map[string]string{"ns::inner": "ns::outer(long)", "ns::middle": "ns::outer(long)", "ns::Counter::add": "main", "inner": ""} {
		if got := strings.Join(f.InlinedIn(name), " "); got != want {
			t.Errorf("%s is inlined in %q, want %q", name, got, want)
		}
	}
}

// TestInlinedInMany: a list of names costs one pass over the debug information, and each name has the answer that it has alone.
func TestInlinedInMany(t *testing.T) {
	path := inlineProgram(t, "-g")
	f := open(t, path, nil)
	f.InlinedIn("main")
	first := f.budget.work.Load()
	if f.InlinedIn("long"); f.budget.work.Load() != first {
		t.Errorf("a second name cost %d bytes of work, the first %d", f.budget.work.Load()-first, first)
	}
	for _, name := range []string{"ns::inner", "ns::middle", "ns::Counter::add", "inner", "main"} {
		if got, want := f.InlinedIn(name), open(t, path, nil).InlinedIn(name); !slices.Equal(got, want) {
			t.Errorf("%s is inlined in %q after other names, in %q alone", name, got, want)
		}
	}
}

// TestQuery: users leave out parameters, template arguments, result types and anonymous namespaces.
func TestQuery(t *testing.T) {
	const (
		template = "_ZN1S1fIlEEvT_"                       // void S::f<long>(long)
		hidden   = "_ZN12_GLOBAL__N_14anonEl.constprop.0" // (anonymous namespace)::anon(long)
	)
	for _, c := range []struct {
		name, raw string
		want      bool
	}{
		{"S::f", template, true},
		{"S::f<long>", template, true},
		{"S::f<int>", template, false},
		{"S::f<long>(long)", template, true},
		{"S::f<long>(int)", template, false},
		{"void S::f<long>(long)", template, true},
		{"f<long>(long)", template, false},
		{"anon", hidden, true},
		{"anon(long)", hidden, true},
		{"(anonymous namespace)::anon", hidden, true},
		{"(anonymous namespace)::anon(long)", hidden, true},
		{"other::anon", hidden, false},
	} {
		q := newQuery(c.name)
		if got := q.fits(c.raw); got != c.want {
			t.Errorf("%s for %s: %v", c.name, c.raw, got)
		}
		if ident, ok := lastIdentifier(c.name); !ok || !strings.Contains(c.raw, ident) {
			t.Errorf("last identifier of %s: %q", c.name, ident)
		}
	}
}

// TestOperators finds C++'s functions whose names are no identifiers.
func TestOperators(t *testing.T) {
	f := open(t, build(t, "g++", "-O1", "-g", "testdata/operators.cc"), nil)
	for name, want := range map[string]string{
		"Base::operator()":                  "_ZN4BaseclEi",
		"Base::operator()(int)":             "_ZN4BaseclEi",
		"Base::operator bool":               "_ZNK4BasecvbEv",
		"Base::operator[]":                  "_ZN4BaseixEi",
		"Base::operator<":                   "_ZN4BaseltEi",
		"operator+":                         "_ZplR4Basei",
		"operator+(Base&, int)":             "_ZplR4Basei",
		"std::operator-":                    "_ZStmiR4Basei",
		"main::{lambda(int)#1}::operator()": "_ZZ4mainENKUliE_clEi",
		"operator new":                      "_Znwm",
		"operator new(unsigned long)":       "_Znwm",
		"operator delete[](void*)":          "_ZdaPv",
		"operator new[]":                    "",
		"operator":                          "",
		"Base::operator":                    "",
	} {
		s := f.ByName(name)
		if want == "" && len(s) > 0 || want != "" && (len(s) != 1 || s[0].Raw != want) {
			t.Errorf("%s is %+v, want %q", name, s, want)
		}
	}
}
