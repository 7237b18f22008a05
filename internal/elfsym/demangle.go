package elfsym

import (
	"strconv"
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
	return DemangledAs(raw)
}

// DemangledAs is Demangled with some parts left out.
func DemangledAs(raw string, options ...demangle.Option) string {
	if !mangled(raw) || len(raw) > maxMangled {
		return raw
	}
	return demangle.Filter(oldRust(raw), append(options, demangle.MaxLength(maxDemangled))...)
}

// oldRust doubles the underscore that an identifier begins with in a name of Rust's first mangling scheme. The demangler
// takes one for a separator, which only the second scheme has: __rust_begin_short_backtrace would lose it. All other names
// are returned as they are.
func oldRust(raw string) string {
	end := strings.LastIndex(raw, "17h")
	if !strings.HasPrefix(raw, "_ZN") || end < 0 || len(raw) < end+20 || raw[end+19] != 'E' {
		return raw
	}
	var out []byte
	done := 0 // bytes of raw that are in out
	for at := len("_ZN"); at < end; {
		digits := at
		for at < end && '0' <= raw[at] && raw[at] <= '9' {
			at++
		}
		n, err := strconv.Atoi(raw[digits:at])
		if err != nil || n <= 0 || n > end-at {
			return raw
		}
		if id := raw[at : at+n]; id[0] == '_' && !strings.HasPrefix(id, "_$") {
			out = append(append(out, raw[done:digits]...), strconv.Itoa(n+1)...)
			out = append(out, '_')
			done = at
		}
		at += n
	}
	return string(append(out, raw[done:]...))
}
