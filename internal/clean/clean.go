// Package clean makes text from a target fit for a terminal.
package clean

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes a name from the target fit for a terminal. Everything that could
// move the cursor, ring the bell, reorder text or break the line becomes an
// escape.
func Text(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsPrint(r) && (r != utf8.RuneError || size > 1):
			b.WriteString(s[i : i+size])
		case size == 1: // ASCII, or no UTF-8
			b.WriteString(`\x` + hex2(s[i]))
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += size
	}
	return b.String()
}

func isClean[S string | []byte](s S) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func hex2(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// JSON does the same for encoded JSON, where such runes can stand only within
// strings. They become \u escapes, which mean the same to a program.
func JSON(b []byte) []byte {
	if isClean(b) {
		return b
	}
	out := make([]byte, 0, len(b)+16)
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 || unicode.IsPrint(r) {
			out = append(out, b[i:i+size]...)
		} else {
			out = appendEscape(out, r)
		}
		i += size
	}
	return out
}

// Encode writes a value as a line of JSON that is fit for a terminal.
func Encode(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(JSON(b), '\n'))
	return err
}

// appendEscape appends a rune as JSON's UTF-16 escapes.
func appendEscape(out []byte, r rune) []byte {
	unit := func(u rune) {
		out = append(out, `\u`...)
		out = append(out, hex2(byte(u>>8))...)
		out = append(out, hex2(byte(u))...)
	}
	if r > 0xffff {
		r -= 0x10000
		unit(0xd800 + r>>10)
		unit(0xdc00 + r&0x3ff)
		return out
	}
	unit(r)
	return out
}

// Base returns the last element of a path inside a target.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
