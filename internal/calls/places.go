package calls

import (
	"slices"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

// A part is where some bytes of an argument or result are: in a word of the call's values. Parts of one argument follow each other.
type part struct {
	word int // -1: not in what can be read
	off  uint8
	size uint8
}

// unread is a part that cannot be read, as one in a vector register.
const unread = -1

// Words of the registers, by the numbers of DWARF.
var wordOfDwarf = [16]int{10, 12, 11, 5, 13, 14, 4, unread, 9, 8, 7, 6, 3, 2, 1, 0}

// Registers of arguments and results, in order, as words.
var (
	intsC    = []int{14, 13, 12, 11, 9, 8}
	intsGo   = []int{10, 5, 11, 14, 13, 9, 8, 7, 6}
	resultsC = []int{10, 12}
)

// wordsOfStack is how many words behind the return address are known.
const wordsOfStack = perfevent.WordLoads - perfevent.WordStack

// placesOf returns where the arguments of a function are when it begins, nil for one of which that is not known.
func placesOf(f *Found, s *elfsym.Signature) [][]part {
	places := make([][]part, len(s.Params))
	var byRule [][]part
	switch {
	case s.Altered || f.Convention == GoAsm:
	case s.Language == elfsym.LanguageGo && f.Convention == Go:
		byRule = goPlaces(s.Params, hiddenAt(f.Raw, s.Params))
	case s.Language == elfsym.LanguageC && f.Convention == C:
		byRule = placesC(s)
	case s.Language == elfsym.LanguageRust && f.Convention == C && !isClosure(f.Raw):
		byRule = placesRust(s)
	}
	for i := range s.Params {
		described := fromDwarf(&s.Params[i])
		switch {
		case s.Language == elfsym.LanguageGo && i < len(byRule): // its debug information also describes parts of values as if they were all
			places[i] = byRule[i]
		case described != nil:
			places[i] = described
		case i < len(byRule):
			places[i] = byRule[i]
		}
	}
	return places
}

// fromDwarf returns where an argument is if debug information says that; nil if it does not. Places in the function's own frame are not
// yet written when it begins.
func fromDwarf(p *elfsym.Param) []part {
	var parts []part
	total := uint64(0)
	for _, at := range p.At {
		if len(p.At) == 1 {
			at.Size = p.Type.Size
		}
		total += at.Size
		switch {
		case at.Size == 0 || at.Size > 64:
			return nil
		case at.Kind == elfsym.InRegister && at.Reg < 16 && at.Size <= 8:
			parts = append(parts, part{wordOfDwarf[at.Reg], 0, uint8(at.Size)})
		case at.Kind == elfsym.InRegister:
			parts = append(parts, part{unread, 0, uint8(min(at.Size, 8))})
		case at.Kind == elfsym.OnStack && at.Off >= 0 && at.Off%8 == 0:
			parts = append(parts, onStack(uint64(at.Off), at.Size)...)
		default:
			return nil
		}
	}
	if total != p.Type.Size {
		return nil
	}
	return parts
}

// onStack returns the parts of what is at an offset behind the return address.
func onStack(off, size uint64) []part {
	var parts []part
	for at := uint64(0); at < size; at += 8 {
		word := unread
		if (off+at)/8 < wordsOfStack {
			word = perfevent.WordStack + int((off+at)/8)
		}
		parts = append(parts, part{word, uint8((off + at) % 8), uint8(min(size-at, 8))})
	}
	return parts
}

// A rules gives out registers and places on the stack (System V ABI, AMD64 supplement, 3.2.3).
type rules struct {
	ints   []int
	floats int    // vector registers that are left
	stack  uint64 // what is used of it
}

// placesC applies the rules of System V. Behind a parameter whose passing is not known nothing is known.
func placesC(s *elfsym.Signature) [][]part {
	r := rules{ints: intsC, floats: 8}
	if len(s.Results) > 0 {
		switch inMemory, ok := returnedInMemory(s.Results[0].Type); {
		case !ok:
			return nil
		case inMemory:
			r.ints = r.ints[1:]
		}
	}
	var all [][]part
	for i := range s.Params {
		parts, ok := r.pass(s.Params[i].Type)
		if !ok {
			break
		}
		all = append(all, parts)
	}
	return all
}

// returnedInMemory reports whether a result is written to where the caller says in a hidden first argument.
func returnedInMemory(t *elfsym.Type) (inMemory, ok bool) {
	switch {
	case (t.Kind == elfsym.Struct || t.Kind == elfsym.Union) && !t.Known:
		return false, false
	case t.ByReference:
		return true, true
	case t.Size <= 16 && holdsLongDouble(t, 0):
		return false, true // it is in a register of the x87
	}
	classes, ok := classify(t)
	return classes == nil && t.Size > 0 && t.Kind != elfsym.Float, ok
}

// pass gives out the place of a parameter.
func (r *rules) pass(t *elfsym.Type) ([]part, bool) {
	if t.ByReference {
		return r.take([]class{integer}, 8), true
	}
	if (t.Kind == elfsym.Struct || t.Kind == elfsym.Union) && !t.Known {
		return nil, false
	}
	classes, ok := classify(t)
	switch {
	case !ok:
		return nil, false
	case t.Size == 0 || len(classes) > 0 && !slices.ContainsFunc(classes, func(c class) bool { return c != none }):
		return []part{}, true // it has no members
	case t.Size == 16 && t.Kind != elfsym.Struct && t.Kind != elfsym.Union && classes == nil:
		r.stack += r.stack % 16 // long double
	}
	return r.take(classes, t.Size), true
}

// take takes registers for classes, or room on the stack if there are not enough, or no classes.
func (r *rules) take(classes []class, size uint64) []part {
	ints, floats := 0, 0
	for _, c := range classes {
		switch c {
		case integer:
			ints++
		case vector:
			floats++
		}
	}
	if classes == nil || ints > len(r.ints) || floats > r.floats {
		at := r.stack
		r.stack += (size + 7) &^ 7
		return onStack(at, size)
	}
	var parts []part
	for i, c := range classes {
		p := part{unread, 0, uint8(min(size-8*uint64(i), 8))}
		switch c {
		case integer:
			p.word, r.ints = r.ints[0], r.ints[1:]
		case vector:
			r.floats--
		}
		parts = append(parts, p)
	}
	return parts
}

// A class is what kind of register eight bytes are passed in.
type class uint8

const (
	none class = iota
	integer
	vector
)

// classify returns the classes of the words of a type, nil if it is passed in memory. ok is false if that is not known.
func classify(t *elfsym.Type) (classes []class, ok bool) {
	switch t.Kind {
	case elfsym.Int, elfsym.Uint, elfsym.Bool, elfsym.Char, elfsym.UChar, elfsym.Pointer, elfsym.Enum:
		return slices.Repeat([]class{integer}, int(t.Size+7)/8), t.Size > 0 && t.Size <= 16
	case elfsym.Float:
		if t.Size <= 8 || isQuad(t) {
			return []class{vector}, true
		}
		return nil, true
	case elfsym.Struct, elfsym.Union:
		if t.Size > 16 {
			return nil, true
		}
		classes = make([]class, (t.Size+7)/8)
		inMemory, ok := classifyFields(t, 0, classes, 0)
		if inMemory {
			classes = nil
		}
		return classes, ok
	case elfsym.Array:
		if t.Vector() && t.Size <= 16 {
			return []class{vector}, true // one register
		}
	case elfsym.Void:
		return nil, t.Size == 0
	}
	return nil, false
}

// maxNesting bounds the structs in structs.
const maxNesting = 8

// classifyFields joins the classes of members into those of the words that they are in.
func classifyFields(t *elfsym.Type, off uint64, classes []class, depth int) (inMemory, ok bool) {
	join := func(at uint64, c class) {
		if i := at / 8; i < uint64(len(classes)) && classes[i] != integer {
			classes[i] = c
		}
	}
	switch t.Kind {
	case elfsym.Struct, elfsym.Union:
		if depth > maxNesting {
			return false, false
		}
		for _, f := range t.Fields() {
			if f.Bits {
				return false, false
			}
			if inMemory, ok = classifyFields(f.Type, off+f.Off, classes, depth+1); inMemory || !ok {
				return inMemory, ok
			}
		}
		return false, true
	case elfsym.Array:
		elem, n := t.Elem(), t.Len()
		if elem == nil || depth > maxNesting || n > 16 || t.Vector() {
			return false, false
		}
		for i := range n {
			if inMemory, ok = classifyFields(elem, off+i*elem.Size, classes, depth+1); inMemory || !ok {
				return inMemory, ok
			}
		}
		return false, true
	case elfsym.Float:
		if t.Size > 8 {
			return true, !isQuad(t)
		}
		join(off, vector)
	case elfsym.Int, elfsym.Uint, elfsym.Bool, elfsym.Char, elfsym.UChar, elfsym.Pointer, elfsym.Enum:
		if t.Size > 8 {
			return false, false
		}
		join(off, integer)
	default:
		return false, false
	}
	return t.Size > 0 && off%t.Size != 0, true
}

// isQuad reports whether a type is a floating-point number of 16 bytes in a vector register, which is not the long double of the x87.
func isQuad(t *elfsym.Type) bool { return t.Size == 16 && strings.Contains(t.Name, "128") }

// holdsLongDouble reports whether a struct or union has nothing but a long double.
func holdsLongDouble(t *elfsym.Type, depth int) bool {
	switch t.Kind {
	case elfsym.Float:
		return t.Size > 8 && depth > 0
	case elfsym.Struct, elfsym.Union:
		f := t.Fields()
		return len(f) > 0 && depth <= maxNesting && holdsLongDouble(f[0].Type, depth+1)
	}
	return false
}

// resultPlaces returns where the results of a function are when it returns; nil where that is not known.
func resultPlaces(f *Found, s *elfsym.Signature) [][]part {
	if len(s.Results) == 0 || s.Altered {
		return nil
	}
	switch {
	case s.Language == elfsym.LanguageGo && f.Convention == Go:
		return goResults(s)
	case s.Language == elfsym.LanguageC && f.Convention == C:
		t := s.Results[0].Type
		inMemory, ok := returnedInMemory(t)
		if !ok || inMemory || t.Size > 16 || t.Kind == elfsym.Float && t.Size > 8 {
			return nil
		}
		classes, ok := classify(t)
		if !ok || len(classes) == 0 {
			return nil
		}
		r := rules{ints: resultsC, floats: 2}
		return [][]part{r.take(classes, t.Size)}
	case s.Language == elfsym.LanguageRust && f.Convention == C:
		r := rules{ints: resultsC}
		if t := s.Results[0].Type; scalar(t) || isPair(t) {
			return [][]part{r.take(slices.Repeat([]class{integer}, int(t.Size+7)/8), t.Size)}
		}
	}
	return nil
}

// scalar reports whether a value is in one register for integers, in all languages.
func scalar(t *elfsym.Type) bool {
	switch t.Kind {
	case elfsym.Int, elfsym.Uint, elfsym.Bool, elfsym.Char, elfsym.UChar, elfsym.Pointer, elfsym.Enum:
		return t.Size > 0 && t.Size <= 8
	}
	return false
}
