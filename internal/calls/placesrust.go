package calls

import (
	"regexp"
	"slices"
	"strings"

	"ptools/internal/elfsym"
)

// isClosure reports whether a Rust function is a closure. Debug information does not describe that it takes what it has captured.
func isClosure(raw string) bool { return closure.MatchString(elfsym.Demangled(raw)) }

var closure = regexp.MustCompile(`\{closure[^}]*\}+(::<.*>)?$`)

// placesRust applies what is certain of Rust's convention, which is not fixed: numbers, pointers, and pairs of an address and a length.
func placesRust(s *elfsym.Signature) [][]part {
	r := rules{ints: intsC, floats: 8}
	if len(s.Results) > 0 && !scalar(s.Results[0].Type) && !isPair(s.Results[0].Type) && s.Results[0].Type.Kind != elfsym.Float {
		return nil
	}
	var all [][]part
	for i := range s.Params {
		t := s.Params[i].Type
		switch {
		case scalar(t):
			all = append(all, r.take([]class{integer}, t.Size))
		case t.Kind == elfsym.Float && t.Size <= 8:
			all = append(all, r.take([]class{vector}, t.Size))
		case isPair(t) && len(r.ints) >= 2:
			all = append(all, r.take([]class{integer, integer}, t.Size))
		default:
			return all
		}
	}
	return all
}

// isPair reports whether a type is Rust's reference to a text or slice: an address and a length.
func isPair(t *elfsym.Type) bool {
	if t.Kind != elfsym.Struct || t.Size != 16 || !strings.HasPrefix(t.Name, "&") {
		return false
	}
	f := t.Fields()
	return len(f) == 2 && f[0].Name == "data_ptr" && f[1].Name == "length"
}

// rustTexts are the types of references to texts. Others have such a name inside, as &[&str].
var rustTexts = []string{"&str", "&mut str", "&std::path::Path", "&std::ffi::os_str::OsStr"}

// isRustText reports whether a type is a reference to a text with a length.
func isRustText(t *elfsym.Type) bool { return isPair(t) && slices.Contains(rustTexts, t.Name) }

// isRustBytes reports whether a type is a reference to bytes.
func isRustBytes(t *elfsym.Type) bool {
	return isPair(t) && (t.Name == "&[u8]" || t.Name == "&mut [u8]")
}
