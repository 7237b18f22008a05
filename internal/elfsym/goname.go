package elfsym

import (
	"bytes"
	"strings"
)

// A goQuery is the name of a Go function as users write it. It may lack the type arguments, the path of the package up
// to its last element, and the marks of a pointer receiver:
//
//	main.Sum            main.Sum[go.shape.int], main.Sum[go.shape.float64]
//	main.Sum[int]       main.Sum[go.shape.int]
//	main.Sum[...]       the same as main.Sum
//	list.(*List).Push   container/list.(*List).Push
//	list.List.Push      the same
type goQuery struct {
	name      string // in the form of goName
	arguments bool   // the name has type arguments
	path      bool   // the name has a path
	pointer   bool   // the name has a pointer receiver
	last      string // the last identifier, which is in every name that fits
}

func newGoQuery(name string) (goQuery, bool) {
	name = strings.ReplaceAll(name, "[...]", "")
	q := goQuery{arguments: strings.Contains(name, "["), pointer: strings.Contains(name, "(*")}
	bare := withoutBrackets(name)
	q.path = strings.Contains(bare, "/")
	dot := strings.LastIndexByte(bare, '.')
	q.last = bare[dot+1:]
	q.name = q.form(name)
	return q, dot > 0 && q.last != ""
}

// form returns a name without the parts that the query does not have.
func (q *goQuery) form(name string) string {
	name = strings.ReplaceAll(name, "%2e", ".") // a dot in the last element of a path
	if q.arguments {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "go.shape.", ""), " ", "")
	} else {
		name = withoutBrackets(name)
	}
	if !q.path {
		path, _, _ := strings.Cut(name, "[") // the path of a type argument is not the function's
		name = name[strings.LastIndexByte(path, '/')+1:]
	}
	if !q.pointer {
		name = strings.NewReplacer("(*", "", ")", "").Replace(name)
	}
	return name
}

// fits reports whether the query means the function of that name.
func (q *goQuery) fits(name string) bool {
	return strings.Contains(name, q.last) && q.form(name) == q.name
}

// withoutBrackets removes text in brackets.
func withoutBrackets(name string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	var out strings.Builder
	depth := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '[':
			depth++
		case c == ']':
			depth = max(depth-1, 0)
		case depth == 0:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// places returns the offsets of the names that fit.
func (g *GoTable) places(q *goQuery) map[uint32]bool {
	places := make(map[uint32]bool)
	pat := []byte(q.last)
	g.names.scanStrings(func(off uint64, b []byte) bool {
		for p := 0; ; {
			i := bytes.Index(b[p:], pat)
			if i < 0 {
				return true
			}
			p += i
			start := bytes.LastIndexByte(b[:p], 0) + 1
			end := p + bytes.IndexByte(b[p:], 0)
			if end-start <= maxName && q.fits(string(b[start:end])) {
				if places[uint32(off)+uint32(start)] = true; len(places) >= maxFound {
					return false
				}
			}
			p = end
		}
	})
	return places
}
