package elfsym

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

const (
	// maxMangled is the length of the longest name that is demangled: the
	// demangler may recurse for each byte.
	maxMangled = 8 << 10
	// maxDemangled is the longest result, as a power of two. Substitutions
	// make short names of exponential length possible.
	maxDemangled = 14
)

// mangled reports whether a name looks like one made by a C++ or Rust
// compiler.
func mangled(s string) bool {
	return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R")
}

// demangled returns the demangled name, or raw if it cannot be demangled.
func demangled(raw string) string {
	if !mangled(raw) || len(raw) > maxMangled {
		return raw
	}
	return demangle.Filter(raw, demangle.MaxLength(maxDemangled))
}
