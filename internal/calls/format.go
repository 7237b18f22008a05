package calls

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

// unknown is printed for a value that is not known.
const unknown = "?"

// A formatter makes texts of the values of a call.
type formatter struct {
	values    *perfevent.CallValues
	names     *goTypes // of dynamic types
	constants constants
}

// Bounds of what is printed of one value.
const (
	mostFields   = 12
	mostElements = 8
	mostDepth    = 3
)

// word returns a word of the values.
func (f *formatter) word(a *argument, n int) uint64 {
	if a.result {
		return f.values.Result[n]
	}
	return f.values.Words[n]
}

// argument returns the text of a value.
func (f *formatter) argument(a *argument) string {
	b, known := f.assemble(a)
	if a.typ == nil {
		return f.untyped(a, b)
	}
	if text, ok := f.text(a); ok {
		return text
	}
	if a.parts == nil {
		return unknown
	}
	if a.typ.ByReference {
		return "@" + hexWord(binary.LittleEndian.Uint64(b))
	}
	return f.value(a.typ, b, known, 0)
}

// assemble puts a value together. known tells of each byte whether it was read.
func (f *formatter) assemble(a *argument) (b []byte, known []bool) {
	for _, p := range a.parts {
		var word [16]byte
		if p.word != unread {
			binary.LittleEndian.PutUint64(word[:], f.word(a, p.word))
		}
		onStack := !a.result && p.word >= perfevent.WordStack && p.word < perfevent.WordLoads
		read := p.word != unread && (!onStack || f.values.Status[perfevent.StatusStack] != 0)
		for i := range p.size {
			b = append(b, word[p.off+i])
			known = append(known, read && p.off+i < 8)
		}
	}
	return b, known
}

// untyped returns a word of which nothing is known, with the text that it points to.
func (f *formatter) untyped(a *argument, b []byte) string {
	n := binary.LittleEndian.Uint64(b)
	if text, ok := f.text(a); ok && len(text) > 2 && text[0] == '"' && !strings.Contains(text, `\`) {
		return hexWord(n) + " " + text
	}
	return hexWord(n)
}

func hexWord(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// text returns the text of a value that has one. Where that could not be read it says so.
func (f *formatter) text(a *argument) (string, bool) {
	if a.text < 0 {
		return "", false
	}
	if f.lacksObject(a) {
		address, _ := f.assemble(a)
		if n := binary.LittleEndian.Uint64(address); n != 0 {
			return hexWord(n) + " " + unknown, true
		}
		return hexWord(0), true
	}
	if b, more, ok := f.copied(a); ok {
		return quote(b, more), true
	}
	if a.length >= 0 {
		return unknown, true
	}
	address, _ := f.assemble(a)
	if len(address) != 8 {
		return "", false
	}
	n := binary.LittleEndian.Uint64(address)
	if a.typ == nil || n == 0 {
		return "", false // a number, or nil
	}
	return hexWord(n) + " " + unknown, true
}

// lacksObject reports whether the object that has the text could not be read.
func (f *formatter) lacksObject(a *argument) bool { return a.load >= 0 && f.values.Status[a.load] == 0 }

// copied returns the beginning of the text that was copied for a value, and whether there is more of it. What was not in memory is read
// from the file, if it is constant.
func (f *formatter) copied(a *argument) (b []byte, more, ok bool) {
	at := perfevent.FirstEntryText + a.text
	if a.result {
		at = perfevent.FirstReturnText + a.text - perfevent.EntryTexts
	}
	status, text := f.values.Status[at], &f.values.Texts[a.text]
	switch {
	case f.lacksObject(a):
		return nil, false, false
	case a.length >= 0 && status != 0:
		n := f.word(a, a.length)
		return text[:min(n, perfevent.MostText)], n > perfevent.MostText, true
	case a.length >= 0:
		return f.constant(a)
	case status != 0:
		return text[:status-1], status > perfevent.MostText, true
	}
	address, _ := f.assemble(a)
	if len(address) != 8 {
		return nil, false, false
	}
	if b, ok = f.constants.read(binary.LittleEndian.Uint64(address), perfevent.MostText+1); !ok {
		return nil, false, false
	}
	if end := bytes.IndexByte(b, 0); end >= 0 {
		return b[:end], false, true
	}
	if len(b) > perfevent.MostText {
		return b[:perfevent.MostText], true, true
	}
	return nil, false, false
}

// constant returns a text with a length that was not in memory.
func (f *formatter) constant(a *argument) (b []byte, more, ok bool) {
	n := f.word(a, a.length)
	if len(a.parts) == 2 || len(a.parts) == 3 { // else it is behind a pointer, which may lead elsewhere now
		for _, p := range a.parts {
			if p.word == unread || p.word == a.length {
				continue
			}
			if b, ok := f.constants.read(f.word(a, p.word), min(n, perfevent.MostText)); ok && uint64(len(b)) == min(n, perfevent.MostText) {
				return b, n > perfevent.MostText, true
			}
			break
		}
	}
	return nil, false, false
}

// quote returns a text in quotes. A cut character at its end is left out.
func quote(b []byte, more bool) string {
	if more {
		for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
			if c := b[len(b)-n]; utf8.RuneStart(c) {
				if !utf8.FullRune(b[len(b)-n:]) {
					b = b[:len(b)-n]
				}
				break
			}
		}
		return strconv.Quote(string(b)) + "…"
	}
	return strconv.Quote(string(b))
}

// value returns the text of a value of a type.
func (f *formatter) value(t *elfsym.Type, b []byte, known []bool, depth int) string {
	if uint64(len(b)) < t.Size || t.Size == 0 && t.Kind != elfsym.Struct || depth > mostDepth {
		return unknown
	}
	b, known = b[:t.Size], known[:t.Size]
	switch t.Kind {
	case elfsym.Struct:
		return f.members(t, b, known, depth)
	case elfsym.Array:
		return f.elements(t, b, known, depth)
	case elfsym.Union:
		return unknown
	}
	for _, k := range known {
		if !k {
			return unknown
		}
	}
	var room [16]byte
	copy(room[:], b)
	n := binary.LittleEndian.Uint64(room[:])
	switch t.Kind {
	case elfsym.GoString:
		return fmt.Sprintf("%s(len %d)", hexWord(n), binary.LittleEndian.Uint64(b[8:]))
	case elfsym.GoSlice:
		return fmt.Sprintf("%s(len %d, cap %d)", hexWord(n), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]))
	case elfsym.GoInterface:
		return f.names.describe(t, n, binary.LittleEndian.Uint64(b[8:]))
	}
	if t.Size > 8 {
		return unknown
	}
	return scalarText(t, n)
}

// scalarText returns the text of a number of a type.
func scalarText(t *elfsym.Type, n uint64) string {
	shift := 64 - 8*t.Size
	signed := int64(n<<shift) >> shift
	switch t.Kind {
	case elfsym.Int:
		return strconv.FormatInt(signed, 10)
	case elfsym.Char, elfsym.UChar:
		number := strconv.FormatInt(signed, 10)
		if t.Kind == elfsym.UChar {
			number = strconv.FormatUint(n, 10)
		}
		if n < unicode.MaxASCII && unicode.IsPrint(rune(n)) {
			return number + " " + strconv.QuoteRune(rune(n))
		}
		return number
	case elfsym.Uint:
		return strconv.FormatUint(n, 10)
	case elfsym.Bool:
		switch n {
		case 0:
			return "false"
		case 1:
			return "true"
		}
		return strconv.FormatUint(n, 10)
	case elfsym.Float:
		switch t.Size {
		case 4:
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(n))), 'g', -1, 32)
		case 8:
			return strconv.FormatFloat(math.Float64frombits(n), 'g', -1, 64)
		}
	case elfsym.Enum:
		if name, ok := t.Enumerator(signed); ok {
			return name
		}
		if !t.Signed() {
			return strconv.FormatUint(n, 10)
		}
		return strconv.FormatInt(signed, 10)
	case elfsym.Pointer, elfsym.GoWord:
		return hexWord(n)
	}
	return unknown
}

// members returns the text of a struct.
func (f *formatter) members(t *elfsym.Type, b []byte, known []bool, depth int) string {
	var texts []string
	fields := t.Fields()
	if len(fields) == 0 && t.Size > 1 {
		return unknown // as Rust's enumerations, which have variants
	}
	for i, m := range fields {
		if i == mostFields {
			texts = append(texts, "…")
			break
		}
		text := unknown
		if end := m.Off + m.Type.Size; !m.Bits && end >= m.Off && end <= uint64(len(b)) {
			text = f.value(m.Type, b[m.Off:end], known[m.Off:end], depth+1)
		}
		if m.Name != "" {
			text = m.Name + "=" + text
		}
		texts = append(texts, text)
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// elements returns the text of an array.
func (f *formatter) elements(t *elfsym.Type, b []byte, known []bool, depth int) string {
	elem := t.Elem()
	if elem == nil || elem.Size == 0 {
		return unknown
	}
	var texts []string
	for at := uint64(0); at+elem.Size <= uint64(len(b)); at += elem.Size {
		if len(texts) == mostElements {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, f.value(elem, b[at:at+elem.Size], known[at:at+elem.Size], depth+1))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
