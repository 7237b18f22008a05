package fit

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, test := range []struct {
		name  string
		width int
		want  string
	}{
		{"std::vector", 20, "std::vector"},
		{"std::vector", 11, "std::vector"},
		{"std::vector<int>::push_back", 11, "std::…_back"},
		{"名前の長い関数", 9, "名前…関数"},
		{"abc", 1, "a"},
		{"abc", 0, ""},
		{"abc", -4, ""},
	} {
		if got := Cut(test.name, test.width); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.name, test.width, got, test.want)
		}
	}
}

// FuzzCut: no text is wider than asked for, nor broken within a character.
func FuzzCut(f *testing.F) {
	f.Add("std::vector<int>", 7)
	f.Add(strings.Repeat("名", 30), 8)
	f.Fuzz(func(t *testing.T, name string, width int) {
		for _, got := range []string{Cut(name, width), Clip(name, width)} {
			if Width(got) > max(width, 0) {
				t.Errorf("%q is wider than %d", got, width)
			}
			if utf8.ValidString(name) && !utf8.ValidString(got) {
				t.Errorf("%q", got)
			}
		}
	})
}
