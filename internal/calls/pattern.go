package calls

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/glob"
)

// A Pattern names functions, and which of their calls are meant: [OBJECT`]PATTERN[(CONDITION)]. In the first two parts * is any text
// and ? any character. Instead of PATTERN there may be FILE:LINE.
type Pattern struct {
	Text             string
	Condition        *Condition // nil: all calls
	object, function string
	line             *SourceLine // it names the functions that have code of this line; nil: function is a name
	plain            bool        // function is an identifier: it is in the name in the symbol table, mangled or not
}

// ParsePattern reads a pattern.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{Text: text, function: text}
	if object, function, ok := strings.Cut(text, "`"); ok {
		if p.object, p.function = object, function; object == "" {
			return p, errors.New("it names no object before `")
		}
	}
	if err := p.cutCondition(); err != nil {
		return p, err
	}
	if p.function == "" {
		return p, errors.New("it names no function")
	}
	var err error
	if p.line, err = ParseLine(p.function); err != nil {
		return p, err
	}
	p.plain = identifier.MatchString(p.function) && !abbreviated[p.function]
	return p, nil
}

// NamePattern returns the pattern of functions' names alone.
func NamePattern(name string) (Pattern, error) {
	p := Pattern{Text: name, function: name}
	if name == "" {
		return p, errors.New("it names no function")
	}
	return p, nil
}

var identifier = regexp.MustCompile(`^\w+$`)

// abbreviated are the identifiers that mangled C++ names may have in other words (Itanium C++ ABI, 5.1.10): St, Sa, Sb, Ss, Si, So, Sd.
var abbreviated = map[string]bool{
	"std": true, "allocator": true, "basic_string": true, "string": true, "istream": true, "ostream": true, "iostream": true,
	"basic_istream": true, "basic_ostream": true, "basic_iostream": true,
}

// mayMatch reports whether a function with a name in a symbol table may match. To demangle all names of a large program takes seconds.
func (p *Pattern) mayMatch(raw string) bool { return !p.plain || strings.Contains(raw, p.function) }

// signs are what conditions have, and lists of parameters do not.
var signs = regexp.MustCompile(`[=$]|\|\||->| [<>%] `)

// cutCondition takes a condition off the name. Names of C++ functions may end with parameters in parentheses: those have no comparison.
func (p *Pattern) cutCondition() error {
	if !strings.HasSuffix(p.function, ")") {
		return nil
	}
	open := opening(p.function)
	if open <= 0 || strings.HasSuffix(p.function[:open], "operator") {
		return nil
	}
	text := p.function[open+1 : len(p.function)-1]
	c, compares, err := parseCondition(text)
	if err != nil && !signs.MatchString(text) || err == nil && !compares {
		return nil // parameters, as A<1>
	}
	if err != nil {
		return fmt.Errorf("in its condition, %w", err)
	}
	p.function, p.Condition = p.function[:open], c
	return nil
}

// opening returns where the parenthesis is that the last one closes, -1 if there is none. Texts in quotes are left out.
func opening(s string) int {
	depth, quoted := 0, false
	for i := len(s) - 1; i >= 0; i-- {
		switch c := s[i]; {
		case c == '"' && (i == 0 || s[i-1] != '\\'):
			quoted = !quoted
		case quoted:
		case c == ')':
			depth++
		case c == '(':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// In reports whether the pattern looks into an object with some names (handle.Space.Names).
func (p *Pattern) In(names []string) bool {
	return p.object == "" || slices.ContainsFunc(names, func(name string) bool { return glob.Match(p.object, name) })
}

// Names are the names that a function can be asked for by.
type Names []string

// maxMangled is the longest name that is demangled.
const maxMangled = 4 << 10

// NamesOf returns the names of a function with a name in a symbol table: that itself; without what the compiler has
// added for a copy; demangled, with and without parameters; a C++ name without its namespaces, with and without parameters; a Go name without the
// path of its package.
func NamesOf(raw string) Names {
	names := Names{raw}
	add := func(name string) {
		if name != "" && name != names[len(names)-1] {
			names = append(names, name)
		}
	}
	switch {
	case strings.HasPrefix(raw, "_Z") || strings.HasPrefix(raw, "_R"):
		if len(raw) > maxMangled {
			break
		}
		f := elfsym.FormsOf(raw)
		add(f.Full)
		add(f.Instance)
		add(f.Plain)
		base := f.Plain[strings.LastIndexByte(f.Plain, ':')+1:]
		add(base)
		if strings.HasPrefix(f.Whole, f.Plain+"(") {
			add(f.Whole)
			add(base + f.Whole[len(f.Plain):])
		}
	case strings.Contains(raw, "/"):
		add(raw[lastSlash(raw)+1:])
	case strings.Contains(raw, "."):
		add(elfsym.CloneOf(raw))
	}
	return names
}

// lastSlash returns where the path of a Go function's package ends. Type arguments may have slashes too.
func lastSlash(name string) int {
	end := strings.IndexByte(name, '[')
	if end < 0 {
		end = len(name)
	}
	return strings.LastIndexByte(name[:end], '/')
}

// Matches reports whether a function has a name that the pattern describes.
func (p *Pattern) Matches(names *Names) bool {
	for _, name := range *names {
		if glob.Match(p.function, name) {
			return true
		}
	}
	return false
}

// plainName reports whether the pattern is a name, and nothing that may mean many functions.
func (p *Pattern) plainName() bool { return p.line == nil && !strings.ContainsAny(p.function, "*?") }
