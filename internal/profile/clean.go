package profile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a name from a target fit for a terminal and for line-oriented
// formats: control characters, bytes that are not UTF-8, line and paragraph
// separators and the characters that reorder text are written as escapes
// (\x1b, \u202e). A name without any is returned as it is.
func Clean(name string) string {
	if i := firstUnsafe(name); i < 0 {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, name[i])
		case !unsafeRune(r):
			b.WriteString(name[i : i+n])
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

func firstUnsafe(name string) int {
	for i := 0; i < len(name); {
		if c := name[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && n == 1 || unsafeRune(r) {
			return i
		}
		i += n
	}
	return -1
}

// unsafeRune reports control (Cc) and format (Cf: bidirectional overrides,
// zero-width characters, tags) characters and the two separators that end
// lines (Zl, Zp).
func unsafeRune(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
