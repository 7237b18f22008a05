package elfsym

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxTried bounds how many bytes of names are demangled for one look-up.
const maxTried = 4 << 20

// allocators are the mangled names of C++'s functions that belong to no class and have no identifier, without parameters.
var allocators = map[string]string{
	"operator new": "_Znw", "operator new[]": "_Zna", "operator delete": "_Zdl", "operator delete[]": "_Zda",
}

// mangledPart returns what the mangled names of the functions with a demangled name have in them.
func mangledPart(name string) (part string, ok bool) {
	if part, ok := allocators[withoutArguments(name)]; ok {
		return part, true
	}
	ident, ok := lastIdentifier(name)
	switch {
	case strings.HasPrefix(name, "std::operator"):
		return "_ZSt", true
	case !ok:
		return "_Z", strings.HasPrefix(name, "operator")
	case ident[0] == '_':
		return ident, true // Rust's v0 form puts a separator before such an identifier
	}
	return strconv.Itoa(len(ident)) + ident, true
}

// lastIdentifier returns the last plain identifier of a demangled function
// name: f of `ns::f<T>(int)`, Vec of `Vec::operator[](int)`, `Vec::operator()` and
// `Vec::~Vec`. C++ and Rust write it unchanged into the mangled name, after
// its length.
func lastIdentifier(name string) (string, bool) {
	name = withoutArguments(withoutAnonymous(name))
	parts := strings.Split(name, "::")
	for i := len(parts) - 1; i >= 0; i-- {
		p := strings.TrimPrefix(strings.TrimSpace(parts[i]), "~")
		if sp := strings.LastIndexByte(p, ' '); sp >= 0 && !strings.HasPrefix(p, "operator") {
			p = p[sp+1:] // the return type of a template's instance
		}
		if isIdentifier(p) && p != "operator" && !strings.HasPrefix(p, "operator ") {
			return p, true
		}
	}
	return "", false
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && c != '$' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c < 0x80 {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// withoutArguments removes a parameter list and text in angle brackets. It
// leaves `::f` of Rust's `<T as Trait>::f`.
func withoutArguments(name string) string {
	var out strings.Builder
	depth := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '<':
			depth++
		case c == '>':
			depth = max(depth-1, 0)
		case c == '(' && depth == 0 && out.Len() > 0:
			return out.String()
		case depth == 0:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// demangledMatches appends the symbols whose demangled name fits. Only names
// that contain part are demangled.
func (t *symTable) demangledMatches(name, part string, found *[]candidate) {
	q := newQuery(name)
	places := make(map[uint32]bool)
	pat := []byte(part)
	tried := 0
	t.names.scanStrings(func(off uint64, s []byte) bool {
		// s is whole strings with their terminators.
		for p := 0; ; {
			i := bytes.Index(s[p:], pat)
			if i < 0 {
				return true
			}
			p += i
			start := bytes.LastIndexByte(s[:p], 0) + 1
			end := p + bytes.IndexByte(s[p:], 0)
			if start, ok := mangledStart(s, start, p); ok && end-start <= maxMangled {
				if tried += end - start; tried > maxTried {
					return false
				}
				if q.fits(string(s[start:end])) {
					places[uint32(off)+uint32(start)] = true
				}
			}
			p = end
		}
	})
	t.named(places, func(i uint32, s rawSym) {
		if nameable(&s) && len(*found) < maxFound {
			*found = append(*found, t.candidate(i, &s))
		}
	})
}

// mangledStart returns the start of a mangled name that covers p, in the
// string that starts at start. The name need not begin the string: _Z1fv may
// share the bytes of _GLOBAL__sub_I__Z1fv.
func mangledStart(b []byte, start, p int) (int, bool) {
	for ; start <= p && start+2 <= len(b); start++ {
		if b[start] == '_' && (b[start+1] == 'Z' || b[start+1] == 'R') {
			return start, true
		}
	}
	return 0, false
}

// A query is a demangled name that is looked for, with the demangler options
// that leave out the same parts as the name.
type query struct {
	name    string
	named   bool // anonymous namespaces are in the name
	options []demangle.Option
}

func newQuery(name string) query {
	q := query{name: squeeze(name), named: strings.Contains(name, anonymous), options: []demangle.Option{demangle.NoClones, demangle.MaxLength(maxDemangled)}}
	name = withoutAnonymous(name)
	if !strings.Contains(name, "(") || strings.HasSuffix(name, "operator()") {
		q.options = append(q.options, demangle.NoParams)
	}
	if !strings.Contains(name, "<") {
		q.options = append(q.options, demangle.NoTemplateParams)
	}
	if !strings.Contains(name, "[abi:") {
		q.options = append(q.options, demangle.NoABITags)
	}
	return q
}

// fits reports whether a mangled name is that of the function that q names.
// Parts that the compiler has split off a function do not fit.
func (q *query) fits(raw string) bool {
	if strings.Contains(raw, ".cold") || strings.Contains(raw, ".part.") {
		return false
	}
	s, err := demangle.ToString(oldRust(raw), q.options...)
	if err != nil {
		return false
	}
	if !q.named {
		s = withoutAnonymous(s)
	}
	whole := squeeze(s)
	// Without their arguments instances of Rust's generics end in `::<>`. Instances of C++ templates begin with their
	// result type.
	return whole == q.name || strings.ReplaceAll(whole, "::<>", "") == q.name ||
		strings.HasSuffix(whole, q.name) && squeeze(withoutResult(s)) == q.name
}

const anonymous = "(anonymous namespace)::"

func withoutAnonymous(name string) string { return strings.ReplaceAll(name, anonymous, "") }

// withoutResult removes what is before the last space that is in no brackets, and before the parameters.
func withoutResult(name string) string {
	depth, start := 0, 0
	for i := range len(name) {
		switch name[i] {
		case '<', '[':
			depth++
		case '>', ']':
			depth--
		case ' ':
			if depth == 0 {
				start = i + 1
			}
		case '(':
			if depth == 0 && i > start {
				return name[start:]
			}
			depth++
		case ')':
			depth--
		}
	}
	return name[start:]
}

// squeeze removes spaces, which users and demanglers place differently.
func squeeze(s string) string { return strings.ReplaceAll(s, " ", "") }
