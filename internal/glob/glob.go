// Package glob matches texts with patterns in which * is any text and ? any character.
package glob

import "strings"

// Is reports whether a text is a pattern, and not a name.
func Is(text string) bool { return strings.ContainsAny(text, "*?") }

// Match reports whether a text matches a pattern as a whole. A star is tried for ever longer texts; an earlier one need
// not be tried again when a later one has been reached.
func Match(pattern, text string) bool {
	i, j, star, from := 0, 0, -1, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == text[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
