// Package fit fits text to a terminal, whose size is all that it knows.
package fit

import (
	"unicode"
	"unicode/utf8"
)

// Clip cuts the end of a line to a width in columns.
func Clip(line string, width int) string {
	used := 0
	for i, r := range line {
		if used += columns(r); used > max(width, 0) {
			return line[:i]
		}
	}
	return line
}

// Cut cuts a name to a width in columns. It leaves out the middle: both the beginning and the end of a long name
// distinguish it from others.
func Cut(name string, width int) string {
	if Width(name) <= width {
		return name
	}
	if width < 2 {
		return Clip(name, width)
	}
	begin := Clip(name, (width-1)/2)
	rest := width - 1 - Width(begin)
	end := len(name)
	for end > len(begin) {
		r, n := utf8.DecodeLastRuneInString(name[:end])
		if rest -= columns(r); rest < 0 {
			break
		}
		end -= n
	}
	return begin + "…" + name[end:]
}

// Width returns how many columns a text occupies.
func Width(text string) (columnsOf int) {
	for _, r := range text {
		columnsOf += columns(r)
	}
	return columnsOf
}

// columns returns how many columns a character occupies: two for those of East Asian scripts and emoji.
func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), r == 0x200d:
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Yi),
		r >= 0xff01 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff, r >= 0x3000 && r <= 0x303f:
		return 2
	}
	return 1
}
