package calls

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptools/internal/elfsym"
)

// A SourceLine is a line of a source file. File is the end of its path.
type SourceLine struct {
	File string
	Line int
}

// String returns FILE:LINE.
func (l *SourceLine) String() string { return l.File + ":" + strconv.Itoa(l.Line) }

// ParseLine reads FILE:LINE. It returns nil for another text. In names of functions colons come in pairs, and no number follows.
func ParseLine(text string) (l *SourceLine, err error) {
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
	return &SourceLine{file, n}, nil
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
func (l *SourceLine) find(f *elfsym.File) *lineFound {
	found := &lineFound{LineCode: elfsym.AtLine(f, l.File, l.Line)}
	var buf []elfsym.Line
	for _, addr := range found.Addrs {
		buf = f.Lines(addr, buf[:0])
		at := slices.IndexFunc(buf, l.is)
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

// is reports whether a position is on the line.
func (l *SourceLine) is(p elfsym.Line) bool {
	return p.Line == l.Line && strings.HasSuffix("/"+p.File, "/"+strings.TrimPrefix(l.File, "/"))
}

// Places returns what AtLine does, with one address for code without a gap: compilers divide that of one line as it suits debuggers. Functions
// are apart.
func (l *SourceLine) Places(f *elfsym.File) elfsym.LineCode {
	code := elfsym.AtLine(f, l.File, l.Line)
	var buf []elfsym.Line
	code.Addrs = slices.DeleteFunc(code.Addrs, func(addr uint64) bool {
		if sym, ok := f.Symbol(addr); !ok || sym.Addr == addr {
			return false
		}
		buf = f.Lines(addr-1, buf[:0])
		return len(buf) > 0 && l.is(buf[0])
	})
	return code
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
	if len(inlined) > 0 {
		return fmt.Errorf("%s is only in code that was inlined, into %s: ask for these", p.Text, FirstOf(inlined))
	}
	return NoCode(p.line, known, next, s.PID)
}

// NoCode says why a process has no code of a line: whether the file is known, and the next line of that which has code, 0 if none has.
func NoCode(l *SourceLine, known bool, next, pid int) error {
	switch {
	case !known:
		return fmt.Errorf("no debug information in what process %d has mapped names a file %s", pid, l.File)
	case next > 0:
		return fmt.Errorf("there is no code of %s; the next line with code is %d", l, next)
	}
	return fmt.Errorf("there is no code of %s or of a line behind it", l)
}

// FirstOf lists the first few of some names.
func FirstOf(names []string) string {
	const most = 4
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return strings.Join(names, ", ")
}
