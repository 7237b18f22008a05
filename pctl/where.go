package pctl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ptools/internal/calls"
)

// Where names an instruction: an address, or an offset from a symbol, in one
// object or in every object that has the symbol. A symbol that is a pattern names many (IsPattern), and so may a line of a source file.
type Where struct {
	Object string // a name of the object (handle.Space.Named), as its path or file name, or a pattern; empty: any
	Symbol string // raw or demangled name, or that of a Go function, or a pattern; empty: File or Addr is meant
	Offset uint64 // bytes after the symbol
	File   string // a source file, or the end of its path, as main.c, src/main.c; Symbol is empty
	Line   int    // a line of it
	Addr   uint64 // run-time address, where Symbol and File are empty
}

// ParseWhere reads SYMBOL, OBJECT`SYMBOL, either followed by +OFFSET, FILE:LINE, OBJECT`FILE:LINE, or
// 0xADDRESS. Offsets are decimal, or hexadecimal after 0x. A plus sign that no
// number follows belongs to the symbol, as in C++'s operator+. In OBJECT and SYMBOL * is any text and ? any
// character, see IsPattern.
func ParseWhere(s string) (Where, error) {
	if digits, ok := cutHex(s); ok {
		addr, err := strconv.ParseUint(digits, 16, 64)
		if err != nil {
			return Where{}, fmt.Errorf("%q is no address: %w", s, errors.Unwrap(err))
		}
		return Where{Addr: addr}, nil
	}
	var w Where
	name := s
	if object, symbol, ok := strings.Cut(s, "`"); ok {
		if object == "" {
			return Where{}, fmt.Errorf("%q names no object before the backquote", s)
		}
		w.Object, name = object, symbol
	}
	name, off, _, err := cutOffset(name)
	if err != nil {
		return Where{}, fmt.Errorf("offset of %q is out of range", s)
	}
	w.Offset = off
	if name == "" {
		return Where{}, fmt.Errorf("%q names no symbol", s)
	}
	switch object, symbol, ok := objectColon(name); {
	case ok:
		return Where{}, fmt.Errorf("%q: an object and its symbol are written '%s`%s'", s, object, symbol)
	case isNumber(name):
		return Where{}, fmt.Errorf("%q is no symbol; an address is 0x%[1]s", name)
	}
	line, err := calls.ParseLine(name)
	switch {
	case err != nil:
		return Where{}, fmt.Errorf("%q: %w", s, err)
	case line != nil && w.Offset != 0:
		return Where{}, fmt.Errorf("%q: a line has no offset; an instruction is SYMBOL+OFFSET or 0xADDRESS", s)
	case line != nil:
		w.File, w.Line = line.File, line.Line
	default:
		w.Symbol = name
	}
	return w, nil
}

// isAddr reports whether an address is meant.
func (w Where) isAddr() bool { return w.Symbol == "" && w.File == "" }

// line returns the line that is meant, or nil.
func (w Where) line() *calls.SourceLine {
	if w.File == "" || w.Symbol != "" {
		return nil
	}
	return &calls.SourceLine{File: w.File, Line: w.Line}
}

// cutOffset cuts SYMBOL+OFFSET. The error is that of a number of more than 64 bits.
func cutOffset(name string) (symbol string, off uint64, ok bool, err error) {
	i := strings.LastIndexByte(name, '+')
	if i <= 0 {
		return name, 0, false, nil
	}
	off, err = strconv.ParseUint(name[i+1:], 0, 64)
	switch {
	case err == nil:
		return name[:i], off, true, nil
	case errors.Is(err, strconv.ErrRange):
		return name, 0, true, err
	}
	return name, 0, false, nil
}

// objectColon cuts OBJECT:SYMBOL, as other tools have it, where the first is a file's name. Symbols of Go have such colons, too.
func objectColon(name string) (object, symbol string, ok bool) {
	object, symbol, ok = strings.Cut(name, ":")
	isFile := strings.Contains(object, ".so") || strings.HasPrefix(object, "/")
	return object, symbol, ok && isFile && symbol != "" && symbol[0] != ':' && strings.Trim(symbol, "0123456789") != ""
}

// isNumber reports whether a name is that of an address without its 0x. No symbol begins with a digit.
func isNumber(name string) bool {
	return name[0] >= '0' && name[0] <= '9' && strings.Trim(name, "0123456789abcdefABCDEF") == ""
}

// IsPattern reports whether the symbol is a pattern, and may name many functions: it has * or ?. That in names of functions is none: after operator,
// and in brackets, where only one that is all of a parameter or argument is a wildcard, as in Box<*>::put.
func (w Where) IsPattern() bool { return isPattern(w.Symbol) }

func isPattern(name string) bool {
	name, _, _ = strings.Cut(name, "operator")
	depth := 0
	for i, c := range []byte(name) {
		switch c {
		case '(', '<', '[', '{':
			depth++
		case ')', '>', ']', '}':
			depth--
		case '*', '?':
			if depth <= 0 || strings.IndexByte("(<[,", name[i-1]) >= 0 && i+1 < len(name) && strings.IndexByte(")>],", name[i+1]) >= 0 {
				return true
			}
		}
	}
	return false
}

// cutHex returns what follows the 0x of an address.
func cutHex(s string) (string, bool) {
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		return digits, true
	}
	return strings.CutPrefix(s, "0X")
}

// String returns w in the form that ParseWhere reads.
func (w Where) String() string {
	if w.isAddr() {
		return "0x" + strconv.FormatUint(w.Addr, 16)
	}
	s := w.Symbol
	if l := w.line(); l != nil {
		s = l.String()
	}
	if w.Object != "" {
		s = w.Object + "`" + s
	}
	if _, _, ok, _ := cutOffset(w.Symbol); ok && w.Symbol != "" || w.Offset != 0 { // what follows a plus sign of the symbol would be its offset
		s += "+0x" + strconv.FormatUint(w.Offset, 16)
	}
	return s
}
