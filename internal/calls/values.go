package calls

import (
	"encoding/binary"
	"math"
	"strings"

	"ptools/internal/elfsym"
)

// A Value is an argument or a result of a call.
type Value struct {
	Name string // of an argument; empty if it has none, or is a result
	Type string // as debug information names it; empty if that is not known
	Text string // "?" if it is not known
	// V is the value where it is a number, a bool or a text: an int64, uint64, float64, bool or string; of a pointer, and of a word without
	// a type, the uint64. Of a text it has at most the first 64 bytes. Nil: it is not known, or something else.
	V any
}

// all returns arguments, or results.
func (f *formatter) all(arguments []argument) []Value {
	all := make([]Value, len(arguments))
	for i := range arguments {
		a := &arguments[i]
		all[i] = Value{Text: f.argument(a), V: f.plain(a)}
		if a.typ != nil {
			all[i].Type = a.typ.Name
		}
		if !a.result {
			all[i].Name = a.name
		}
	}
	return all
}

// argsText returns arguments as text: "a=1, s=\"text\"".
func argsText(args []Value) string {
	texts := make([]string, len(args))
	for i := range args {
		if texts[i] = args[i].Text; args[i].Name != "" {
			texts[i] = args[i].Name + "=" + texts[i]
		}
	}
	return strings.Join(texts, ", ")
}

// resultsText returns what a call has returned as text; empty if it returns nothing.
func resultsText(results []Value) string {
	texts := make([]string, len(results))
	for i := range results {
		texts[i] = results[i].Text
	}
	if len(texts) > 1 {
		return "(" + strings.Join(texts, ", ") + ")"
	}
	return strings.Join(texts, "")
}

// plain returns a value that is a number, a bool or a text, or nil.
func (f *formatter) plain(a *argument) any {
	b, known := f.assemble(a)
	if a.typ == nil {
		return binary.LittleEndian.Uint64(b)
	}
	if a.text >= 0 {
		if text, _, ok := f.copied(a); ok {
			return string(text)
		}
	}
	size := a.typ.Size
	if a.typ.ByReference || size == 0 || size > 8 || uint64(len(b)) < size {
		return nil
	}
	var word [8]byte
	for i := range size {
		if !known[i] {
			return nil
		}
		word[i] = b[i]
	}
	return number(a.typ, binary.LittleEndian.Uint64(word[:]))
}

// number returns a number of a type, nil if that is none. The bytes beyond its size are zero.
func number(t *elfsym.Type, n uint64) any {
	switch t.Kind {
	case elfsym.Int, elfsym.Char, elfsym.Enum:
		if t.Kind != elfsym.Enum || t.Signed() {
			shift := 64 - 8*t.Size
			return int64(n<<shift) >> shift
		}
		return n
	case elfsym.Uint, elfsym.UChar, elfsym.Pointer, elfsym.GoWord:
		return n
	case elfsym.Bool:
		if n > 1 { // it is none
			return n
		}
		return n == 1
	case elfsym.Float:
		switch t.Size {
		case 4:
			return float64(math.Float32frombits(uint32(n)))
		case 8:
			return math.Float64frombits(n)
		}
	}
	return nil
}
