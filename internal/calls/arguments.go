package calls

import (
	"slices"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

// An argument is a parameter or a result of a function, and how its value is found in the values of a call.
type argument struct {
	name   string
	typ    *elfsym.Type // nil: a word of which nothing is known
	parts  []part       // nil: not known
	result bool
	text   int // number of the text that is copied for it; -1: none
	load   int // number of the copy of the object that has the text; -1: there is none
	length int // word that has the length of the text; -1: it ends with a zero byte
}

// A layout is how the values of a function's calls are read.
type layout struct {
	args, results []argument
	typed         bool // debug information describes the function
	copies        perfevent.Copies
	texts         int // how many texts are copied at the beginning
	loads         int
	resultTexts   int
	resultLoads   int
}

// layoutOf returns the layout of a function. Without a signature it has the six registers that integers are passed in.
func layoutOf(f *Found, s *elfsym.Signature) *layout {
	l := &layout{typed: s != nil}
	if s == nil || f.Convention == GoAsm {
		l.untyped(f)
		return l
	}
	for i, parts := range placesOf(f, s) {
		if s.Params[i].Name == dictionary {
			continue
		}
		l.args = append(l.args, l.argument(&s.Params[i], parts, false))
	}
	places := resultPlaces(f, s)
	for i := range s.Results {
		var parts []part
		if i < len(places) {
			parts = places[i]
		}
		l.results = append(l.results, l.argument(&s.Results[i], parts, true))
	}
	return l
}

// untyped is the layout of a function without debug information.
func (l *layout) untyped(f *Found) {
	ints, result := intsC, resultsC[0]
	if f.Convention == Go {
		ints, result = intsGo[:6], intsGo[0]
	}
	if f.Convention == GoAsm {
		l.args, l.results = []argument{nobodyKnows(false)}, []argument{nobodyKnows(true)}
		return
	}
	add := func(word int, isResult bool) argument {
		a := argument{parts: []part{{word, 0, 8}}, result: isResult, text: -1, load: -1, length: -1}
		if f.Convention == C { // texts of Go do not end with a zero byte
			l.copyText(&a, word, -1)
		}
		return a
	}
	for _, word := range ints {
		l.args = append(l.args, add(word, false))
	}
	l.results = []argument{add(result, true)}
}

// nobodyKnows is what stands for all arguments of a function, or its results, of which nothing is known.
func nobodyKnows(result bool) argument {
	return argument{typ: &elfsym.Type{}, result: result, text: -1, load: -1, length: -1}
}

// argument returns how a parameter is read.
func (l *layout) argument(p *elfsym.Param, parts []part, result bool) argument {
	a := argument{name: p.Name, typ: p.Type, parts: parts, result: result, text: -1, load: -1, length: -1}
	t := p.Type
	if strings.HasPrefix(p.Name, "~") {
		a.name = ""
	}
	if t.ByReference && !result && len(parts) == 1 {
		l.copyString(&a, t)
		return a
	}
	switch {
	case t.Kind == elfsym.Pointer && len(parts) == 1:
		elem := t.Elem()
		switch {
		case elem == nil:
		case isChar(elem):
			l.copyText(&a, parts[0].word, -1)
		case elem.Kind == elfsym.Struct:
			l.copyString(&a, elem)
		}
	case t.Kind == elfsym.GoString && len(parts) == 2, t.Kind == elfsym.GoSlice && len(parts) == 3 && isBytes(t), isRustText(t) && len(parts) == 2:
		l.copyText(&a, parts[0].word, parts[1].word)
	case isView(t) && len(parts) == 2:
		l.copyText(&a, parts[1].word, parts[0].word)
	}
	return a
}

// isChar reports whether pointers to a type are taken for texts that end with a zero byte, as in C.
func isChar(t *elfsym.Type) bool {
	switch t.Name {
	case "char", "signed char", "unsigned char":
		return t.Size == 1
	}
	return false
}

// isBytes reports whether a Go slice is one of bytes.
func isBytes(t *elfsym.Type) bool {
	f := t.Fields()
	if len(f) != 3 || f[0].Type.Kind != elfsym.Pointer {
		return false
	}
	elem := f[0].Type.Elem()
	return elem != nil && (elem.Kind == elfsym.Uint || elem.Kind == elfsym.UChar) && elem.Size == 1
}

// isView reports whether a type is std::string_view of libstdc++: a length and an address.
func isView(t *elfsym.Type) bool {
	if t.Kind != elfsym.Struct || t.Size != 16 {
		return false
	}
	f := t.Fields()
	return len(f) == 2 && f[0].Name == "_M_len" && f[1].Name == "_M_str" && ofBytes(f[1].Type)
}

// ofBytes reports whether a type is a pointer to characters of one byte: there are strings of wider ones.
func ofBytes(t *elfsym.Type) bool {
	if t.Kind != elfsym.Pointer {
		return false
	}
	elem := t.Elem()
	return elem != nil && elem.Size == 1
}

// isString reports whether a type is std::string of libstdc++: it begins with an address and a length.
func isString(t *elfsym.Type) bool {
	if t.Kind != elfsym.Struct || t.Size != 32 {
		return false
	}
	f := t.Fields()
	if len(f) < 2 || f[0].Name != "_M_dataplus" || f[1].Name != "_M_string_length" || f[1].Off != 8 {
		return false
	}
	return slices.ContainsFunc(f[0].Type.Fields(), func(m elfsym.Field) bool { return m.Name == "_M_p" && ofBytes(m.Type) })
}

// copyString copies the text of an object that a pointer leads to, if it is a string or a view of one.
func (l *layout) copyString(a *argument, t *elfsym.Type) {
	loads, first, words := &l.loads, 0, perfevent.WordLoads
	most := perfevent.EntryLoads
	if a.result {
		loads, first, words, most = &l.resultLoads, perfevent.FirstReturnLoad, perfevent.ResultLoads, perfevent.ReturnLoads
	}
	if !isString(t) && !isView(t) || *loads == most || a.parts[0].word == unread {
		return
	}
	l.copies[first+*loads] = perfevent.LoadAt(a.parts[0].word, 0)
	at := words + 2**loads
	a.load = first + *loads
	*loads++
	if isString(t) {
		l.copyText(a, at, at+1)
	} else {
		l.copyText(a, at+1, at)
	}
}

// copyText copies a text, if there is room for another.
func (l *layout) copyText(a *argument, word, length int) {
	texts, first, most, from := &l.texts, perfevent.FirstEntryText, perfevent.EntryTexts, 0
	if a.result {
		texts, first, most, from = &l.resultTexts, perfevent.FirstReturnText, perfevent.ReturnTexts, perfevent.EntryTexts
	}
	if *texts == most || word == unread || length == unread && a.length != unread {
		return
	}
	what := perfevent.TextAt(word, 0)
	if length >= 0 {
		what = perfevent.BytesAt(word, length)
	}
	l.copies[first+*texts] = what
	a.text, a.length = from+*texts, length
	*texts++
}
