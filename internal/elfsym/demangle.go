package elfsym

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

const (
	// maxMangled is the longest name that is demangled: the demangler
	// recurses once or more a byte.
	maxMangled = 8 << 10
	// maxDemangled is the longest result, as a power of two. Substitutions
	// make short names of exponential length possible.
	maxDemangled = 14
)

// mangled reports whether a name looks like one of a C++ or Rust compiler.
func mangled(s string) bool {
	return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R")
}

// demangled returns the name as its author wrote it, or as it is.
func demangled(raw string) string {
	if !mangled(raw) || len(raw) > maxMangled {
		return raw
	}
	return demangle.Filter(raw, demangle.MaxLength(maxDemangled))
}
