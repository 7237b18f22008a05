package calls

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptools/internal/elfsym"
)

// A sourceLine is a line of a source file, which a pattern names instead of a function.
type sourceLine struct {
	file string
	line int
}

// parseLine reads FILE:LINE. In names of functions colons come in pairs, and no number follows.
func parseLine(text string) (l *sourceLine, err error) {
	file, number, ok := cutLast(text, ":")
	if !ok || file == "" || strings.HasSuffix(file, ":") || number == "" || strings.Trim(number, "0123456789") != "" {
		return nil, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%s is no number of a line", number)
	}
	if strings.ContainsAny(file, "*?") {
		return nil, errors.New("the file of a line is the end of its path, and no pattern")
	}
	return &sourceLine{file, n}, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// A lineFound is what is known of a line in an object.
type lineFound struct {
	elfsym.LineCode
	own     []uint64 // the code of functions that were not inlined there
	inlined []string // functions that the line's function was inlined into
}

// find looks for the code of a line in a file.
func (l *sourceLine) find(f *elfsym.File) *lineFound {
	found := &lineFound{LineCode: elfsym.AtLine(f, l.file, l.line)}
	var buf []elfsym.Line
	for _, addr := range found.Addrs {
		buf = f.Lines(addr, buf[:0])
		at := slices.IndexFunc(buf, func(p elfsym.Line) bool { return p.Line == l.line && strings.HasSuffix("/"+p.File, "/"+l.file) })
		switch {
		case at >= 0 && buf[at].Inlined:
			if in := buf[len(buf)-1].Func; !slices.Contains(found.inlined, in) {
				found.inlined = append(found.inlined, in)
			}
		default: // also the line of a declaration, whose address is that of the first line of the body
			if sym, ok := f.Symbol(addr); ok && isCold(sym.Raw) { // it belongs to the function of that name
				addr = sym.Addr
			}
			found.own = append(found.own, addr)
		}
	}
	return found
}

// has reports whether code of the line is in a function.
func (l *lineFound) has(f *elfsym.Sym) bool {
	return slices.ContainsFunc(l.own, func(addr uint64) bool { return f.Addr <= addr && addr-f.Addr < max(f.Size, 1) })
}

// LineError says why a pattern, by its number, that is a line of source names no function. It is nil for other patterns.
func (s *Selection) LineError(i int) error {
	p := &s.patterns[i]
	if p.line == nil {
		return nil
	}
	next, known := 0, false
	var inlined []string
	for _, found := range s.lines[i] {
		known = known || found.Found
		inlined = append(inlined, found.inlined...)
		if found.Next > 0 && (next == 0 || found.Next < next) {
			next = found.Next
		}
	}
	switch {
	case len(inlined) > 0:
		return fmt.Errorf("%s is only in code that was inlined, into %s: ask for these", p.Text, FirstOf(inlined))
	case !known:
		return fmt.Errorf("no debug information in what process %d has mapped names a file %s", s.PID, p.line.file)
	case next > 0:
		return fmt.Errorf("there is no code of %s; the next line with code is %d", p.Text, next)
	}
	return fmt.Errorf("there is no code of %s or of a line behind it", p.Text)
}

// FirstOf lists the first few of some names.
func FirstOf(names []string) string {
	const most = 4
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return strings.Join(names, ", ")
}
