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
	return demangledAs(raw)
}

// demangledAs is demangled with some parts left out.
func demangledAs(raw string, options ...demangle.Option) string {
	if !mangled(raw) || len(raw) > maxMangled {
		return raw
	}
	return demangle.Filter(oldRust(raw), append(options, demangle.MaxLength(maxDemangled))...)
}

// Forms are a name as it is demangled, and the same without what the compiler has added for a copy and without template
// arguments: with its parameters, and without them. Instance has the arguments of templates, and no parameters; it is empty
// if that is not known.
type Forms struct{ Full, Whole, Plain, Instance string }

// FormsOf demangles a name. All forms are raw if it cannot be demangled.
func FormsOf(raw string) Forms {
	if ast, err := demangle.ToAST(raw); err == nil && len(raw) <= maxMangled && !isOldRust(raw) {
		print := func(part demangle.AST, options ...demangle.Option) string {
			return demangle.ASTToString(part, append(options, demangle.MaxLength(maxDemangled))...)
		}
		f := Forms{Full: print(ast)}
		for clone, ok := ast.(*demangle.Clone); ok; clone, ok = ast.(*demangle.Clone) {
			ast = clone.Base
		}
		f.Whole = print(ast, demangle.NoTemplateParams)
		if typed, ok := ast.(*demangle.Typed); ok {
			ast = typed.Name
			f.Instance = print(ast)
		}
		f.Plain = print(ast, demangle.NoTemplateParams)
		return f
	}
	return formsOneByOne(raw)
}

// formsOneByOne demangles a name once for each form. This is a Rust name, or one that is followed by something else.
func formsOneByOne(raw string) Forms {
	return Forms{
		Full:  demangledAs(raw),
		Whole: demangledAs(raw, demangle.NoTemplateParams, demangle.NoClones),
		Plain: demangledAs(raw, demangle.NoParams, demangle.NoTemplateParams, demangle.NoClones),
	}
}

// isOldRust reports whether a name ends like one of Rust's first mangling scheme.
func isOldRust(raw string) bool {
	end := strings.LastIndex(raw, "17h")
	return strings.HasPrefix(raw, "_ZN") && end >= 0 && len(raw) >= end+20 && raw[end+19] == 'E'
}

// oldRust doubles the underscore that an identifier begins with in a name of Rust's first mangling scheme. The demangler
// takes one for a separator, which only the second scheme has: __rust_begin_short_backtrace would lose it. All other names
// are returned as they are.
func oldRust(raw string) string {
	if !isOldRust(raw) {
		return raw
	}
	end := strings.LastIndex(raw, "17h")
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
