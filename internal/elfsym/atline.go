package elfsym

import (
	"slices"
	"strings"
)

// A LineCode is where the code of a line of a source file is.
type LineCode struct {
	Addrs []uint64 // where pieces of it begin, ascending; those of functions that were inlined too
	Next  int      // the next line of the file that has code, 0 if there is none
	Found bool     // the file is known
	Files []string // the full paths of source files that have code of the line, the first few
}

// mostLineFiles bounds LineCode.Files.
const mostLineFiles = 8

// maxLineAddrs bounds the pieces of code of one line.
const maxLineAddrs = 1 << 12

// AtLine looks for the code of a line. file is the end of the path of a source file: main.c, src/main.c. AtLine reads Go's tables, or all line tables of the
// debug information.
func AtLine(f *File, file string, line int) (c LineCode) {
	f.touch()
	s := lineSearch{file: "/" + strings.TrimPrefix(file, "/"), line: line, LineCode: &c}
	if g, ok := f.Go(); ok {
		g.atLine(&s)
	}
	if d := f.dwarf(); d != nil && !c.Found {
		d.atLine(&s)
		for _, addr := range s.heads {
			if sym, ok := f.Symbol(addr); ok && sym.Addr == addr {
				s.add(addr, line, "")
			}
		}
	}
	slices.Sort(c.Files)
	slices.Sort(c.Addrs)
	c.Addrs = slices.Compact(c.Addrs)
	return c
}

// A lineSearch looks for the code of a line.
type lineSearch struct {
	file string // with a slash before it
	line int
	*LineCode
	heads []uint64 // where the line comes first, and others with code follow: that of a declaration
}

// in reports whether a source file is the one that is meant.
func (s *lineSearch) in(name string) bool {
	return strings.HasSuffix(name, s.file) || name == s.file[1:]
}

// add takes a piece of code of a file; empty: known already.
func (s *lineSearch) add(addr uint64, line int, file string) {
	switch {
	case line == s.line:
		if file != "" && len(s.Files) < mostLineFiles && !slices.Contains(s.Files, file) {
			s.Files = append(s.Files, file)
		}
		if len(s.Addrs) < maxLineAddrs {
			s.Addrs = append(s.Addrs, addr)
		}
	case line > s.line && (s.Next == 0 || line < s.Next):
		s.Next = line
	}
}

// atLine goes through the functions that have code of the file.
func (g *GoTable) atLine(s *lineSearch) {
	for i := range g.nfunc {
		f := g.read(i)
		if f.pcln == 0 {
			continue
		}
		meant, any := map[int32]bool{}, false
		g.eachPC(f.pcfile, func(r pcRow) bool {
			if _, ok := meant[r.value]; !ok {
				meant[r.value] = s.in(g.fileName(f, r.value))
			}
			any = any || meant[r.value]
			return true
		})
		if s.Found = s.Found || any; !any {
			continue
		}
		addr := f.Entry
		g.eachPC(f.pcln, func(r pcRow) bool {
			if line := int(r.value); line >= s.line && (line == s.line || s.Next == 0 || line < s.Next) && meant[g.value(f, f.pcfile, addr)] {
				s.add(addr, line, g.fileName(f, g.value(f, f.pcfile, addr)))
			}
			addr = f.Entry + uint64(r.end)
			return true
		})
	}
}

// atLine goes through the line tables of all units.
func (d *dwarfFile) atLine(s *lineSearch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.eachUnit(func(u *unit) bool {
		if _, ok := u.readRoot(); !ok {
			return true
		}
		t := lineTable{every: true}
		u.readLinesTo(&t)
		meant, names := make([]bool, len(t.files)), make([]string, len(t.files))
		any := false
		for i := range meant {
			name := t.fullName(uint64(i))
			if meant[i] = s.in(name); meant[i] {
				names[i], any = name, true
			}
		}
		s.Found = s.Found || any
		for i := range t.rows {
			r := &t.rows[i]
			if n := int(r.file) - t.first; !any || n < 0 || n >= len(meant) || !meant[n] {
				continue
			}
			switch same := func(j int) bool { return j >= 0 && j < len(t.rows) && t.rows[j].addr == r.addr }; {
			case !same(i + 1):
				s.add(r.addr, int(r.line), names[int(r.file)-t.first])
			case !same(i-1) && int(r.line) == s.line && len(s.heads) < maxLineAddrs:
				s.heads = append(s.heads, r.addr)
			}
		}
		return len(s.Addrs) < maxLineAddrs
	})
}
