package elfsym

import (
	"slices"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		name, other string
		want        int // negative: not near
	}{
		{"malloc", "malloc", 0},
		{"mallok", "malloc", 1},
		{"Malloc", "malloc", 0},
		{"maloc", "malloc", 1},
		{"alloc", "malloc", 1},
		{"nosuchfn", "malloc", -1},
		{"inner", "ns::outer::inner", 1},
		{"handleRequest", "main.(*server).handleRequests", 2},
		{"alloc", "g_slice_alloc0", 2 + 9}, // only contains it
		{"abc", "xabcdefgh", -1},           // too short for that
		{"f", "g", 1},
		{"", "malloc", -1},
	} {
		d, ok := newMatcher(tt.name).distance(tt.other)
		if !ok {
			d = -1
		}
		if d != tt.want {
			t.Errorf("%q from %q: %d, want %d", tt.other, tt.name, d, tt.want)
		}
	}
}

func TestNear(t *testing.T) {
	f := open(t, inlineProgram(t), nil)
	for _, tt := range []struct{ name, want string }{{"mian", "main"}, {"mani", "main"}} {
		var names []string
		f.Near(tt.name, func(n Near) { names = append(names, n.Name) })
		if !slices.Contains(names, tt.want) {
			t.Errorf("near %s: %q, without %s", tt.name, names, tt.want)
		}
	}
	f.Near("no_such_function_anywhere", func(n Near) { t.Errorf("%q is near", n.Name) })
	f.Near("", func(n Near) { t.Errorf("%q is near nothing", n.Name) })
}
