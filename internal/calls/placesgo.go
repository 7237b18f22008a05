package calls

import (
	"regexp"
	"slices"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

// dictionary is the name of the hidden parameter of generic Go functions, behind the receiver of a method. Optimized ones do not describe it.
const dictionary = ".dict"

// hiddenAt returns in front of which parameter a Go function has the dictionary without describing it, by its name; -1: it has none.
func hiddenAt(raw string, params []elfsym.Param) int {
	const shape = "[go.shape."
	described := slices.ContainsFunc(params, func(p elfsym.Param) bool { return p.Name == dictionary })
	_, shaped, ok := strings.Cut(raw, shape)
	if !ok || described || strings.HasPrefix(raw, "type:") { // the compiler's own functions for a type
		return -1
	}
	depth, end := 1, 0
	for ; depth > 0 && end < len(shaped); end++ {
		switch shaped[end] {
		case '[':
			depth++
		case ']':
			depth--
		}
	}
	switch inside := strings.TrimPrefix(shaped[end:], ")"); {
	case inside == "":
		return 0
	case method.MatchString(inside) && !madeInside.MatchString(inside):
		return 1
	}
	return -1 // it is inside a generic function, and has the dictionary from that
}

var (
	method = regexp.MustCompile(`^\.[^.-]+$`)
	// madeInside is what the compiler calls functions that it makes for code inside others.
	madeInside = regexp.MustCompile(`^\.(func|gowrap|deferwrap)[0-9]+$`)
)

// goResults returns where the results of a Go function are. Those on the stack are written there before it returns, and are not read.
func goResults(s *elfsym.Signature) [][]part {
	all := goPlaces(s.Results, -1)
	for _, parts := range all {
		for i := range parts {
			if parts[i].word >= perfevent.WordStack {
				parts[i].word = unread
			}
		}
	}
	return all
}

// goPlaces applies the rules of Go's calls (its ABIInternal): each parameter is in registers as a whole, or on the stack. Behind one
// whose type is not known nothing is known. The dictionary is in front of the parameter hidden, if that is not -1.
func goPlaces(params []elfsym.Param, hidden int) [][]part {
	const floats = 15
	r := rules{ints: intsGo, floats: floats}
	var all [][]part
	for i := range params {
		if i == hidden {
			r.hide()
		}
		t := params[i].Type
		saved := r
		parts, ok, known := r.assign(t, 0)
		if !known {
			break
		}
		if !ok {
			r = saved
			align := uint64(1)
			for align < 8 && align < t.Size {
				align *= 2
			}
			if t.Kind == elfsym.Struct || t.Kind == elfsym.Array {
				align = alignment(t, 0)
			}
			r.stack = (r.stack + align - 1) &^ (align - 1)
			parts = onStack(r.stack, t.Size)
			if r.stack%8 != 0 && r.stack%8+t.Size > 8 {
				parts = []part{{unread, 0, uint8(min(t.Size, 64))}}
			}
			r.stack += t.Size
		}
		all = append(all, parts)
	}
	return all
}

// hide gives out the place of the dictionary, a pointer.
func (r *rules) hide() {
	if len(r.ints) > 0 {
		r.ints = r.ints[1:]
	} else {
		r.stack = (r.stack+7)&^7 + 8
	}
}

// assign gives out registers for a value, or a part of one. ok is false if there are not enough, or for arrays of more than one
// element; known is false for a type that is not known.
func (r *rules) assign(t *elfsym.Type, depth int) (parts []part, ok, known bool) {
	words := 0
	switch t.Kind {
	case elfsym.Int, elfsym.Uint, elfsym.Bool, elfsym.Char, elfsym.UChar, elfsym.Pointer, elfsym.GoWord, elfsym.Enum:
		if words = 1; t.Size > 8 {
			return nil, false, false
		}
	case elfsym.GoString, elfsym.GoInterface:
		words = 2
	case elfsym.GoSlice:
		words = 3
	case elfsym.Float:
		if r.floats == 0 {
			return nil, false, true
		}
		r.floats--
		return []part{{unread, 0, uint8(t.Size)}}, true, true
	case elfsym.Array:
		switch elem := t.Elem(); {
		case elem == nil || depth > maxNesting:
			return nil, false, false
		case t.Size == 0 || t.Len() == 0:
			return []part{}, true, true
		case t.Len() > 1:
			return nil, false, true
		default:
			return r.assign(elem, depth+1)
		}
	case elfsym.Struct:
		return r.assignStruct(t, depth)
	default:
		return nil, false, false
	}
	if words > len(r.ints) {
		return nil, false, true
	}
	for i, word := range r.ints[:words] {
		parts = append(parts, part{word, 0, uint8(min(t.Size-8*uint64(i), 8))})
	}
	r.ints = r.ints[words:]
	return parts, true, true
}

// assignStruct is assign for the members of a struct. There may be room between them, which is in no register.
func (r *rules) assignStruct(t *elfsym.Type, depth int) (parts []part, ok, known bool) {
	if depth > maxNesting {
		return nil, false, false
	}
	at := uint64(0)
	parts = []part{}
	gap := func(to uint64) {
		for ; at < to; at += min(to-at, 8) {
			parts = append(parts, part{unread, 0, uint8(min(to-at, 8))})
		}
	}
	for _, f := range t.Fields() {
		inside, ok, known := r.assign(f.Type, depth+1)
		if !ok || !known {
			return nil, ok, known
		}
		gap(f.Off)
		parts = append(slices.Clip(parts), inside...)
		at = f.Off + f.Type.Size
	}
	gap(t.Size)
	return parts, true, true
}

// alignment returns the alignment of a Go type.
func alignment(t *elfsym.Type, depth int) uint64 {
	switch t.Kind {
	case elfsym.Struct:
		most := uint64(1)
		for _, f := range t.Fields() {
			if depth < maxNesting {
				most = max(most, alignment(f.Type, depth+1))
			}
		}
		return most
	case elfsym.Array:
		if elem := t.Elem(); elem != nil && depth < maxNesting {
			return alignment(elem, depth+1)
		}
		return 8
	}
	return max(1, min(t.Size, 8))
}
