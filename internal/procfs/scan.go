package procfs

import (
	"fmt"
	"math"
)

// A scanner cuts fields off the front of one line of /proc text. A field that
// does not parse sets bad for good, and a caller checks bad once, at the end.
// The scanner moves an offset rather than the slice, because a slice stored
// through a pointer forces its array onto the heap.
type scanner struct {
	text []byte
	off  int
	bad  bool
}

// rest is what has not been cut off yet.
func (s *scanner) rest() []byte { return s.text[s.off:] }

// field returns the next run of bytes up to a space, a tab or the end.
func (s *scanner) field() []byte {
	start := s.off
	for start < len(s.text) && (s.text[start] == ' ' || s.text[start] == '\t') {
		start++
	}
	end := start
	for end < len(s.text) && s.text[end] != ' ' && s.text[end] != '\t' && s.text[end] != '\n' {
		end++
	}
	s.off = end
	if start == end {
		s.bad = true
	}
	return s.text[start:end]
}

// uint parses the next field as a number without sign.
func (s *scanner) uint(base uint64) uint64 {
	v, ok := parseUint(s.field(), base)
	if !ok {
		s.bad = true
		return 0
	}
	return v
}

// int parses the next field as a decimal number with an optional minus sign.
func (s *scanner) int() int64 {
	v, ok := parseInt(s.field())
	if !ok {
		s.bad = true
		return 0
	}
	return v
}

// skip drops n fields.
func (s *scanner) skip(n int) {
	for range n {
		s.field()
	}
}

// parseUint parses all of b as digits of the base (10 or 16); a "0x" prefix
// is accepted in base 16. It allocates nothing, unlike strconv on a []byte.
func parseUint(b []byte, base uint64) (uint64, bool) {
	if base == 16 && len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		b = b[2:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		d := digit(c)
		if d >= base || v > (math.MaxUint64-d)/base {
			return 0, false
		}
		v = v*base + d
	}
	return v, true
}

func digit(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c && c <= 'f':
		return uint64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return uint64(c-'A') + 10
	}
	return math.MaxUint64
}

func parseInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	v, ok := parseUint(b, 10)
	switch {
	case !ok:
		return 0, false
	case neg && v <= 1<<63:
		return -int64(v), true
	case !neg && v <= math.MaxInt64:
		return int64(v), true
	}
	return 0, false
}

// malformed returns the error of every parser. It says what was being parsed, and
// has the beginning of the text. It copies b, so that b may be a buffer on its
// caller's stack.
func malformed(what string, b []byte) error {
	return fmt.Errorf("procfs: malformed %s: %q", what, string(b[:min(len(b), 80)]))
}
