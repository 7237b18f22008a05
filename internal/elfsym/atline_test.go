package elfsym

import (
	"path"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestAtLine: the code of a line is where the positions say that it is, also in a program of Go, and the next line with code is found.
func TestAtLine(t *testing.T) {
	for _, program := range []string{ptest.BuildC(t, "testdata/inline.cc", "-O2"), goBuild(t)} {
		f := open(t, program, nil)
		_, isGo := f.Go()
		file, seen := "", map[int][]uint64{}
		Functions(f, func(s Sym) bool {
			if lines := f.Lines(s.Addr, nil); len(lines) > 0 && (s.Raw == "main" || s.Raw == "main.main") {
				file = lines[0].File
			}
			return true
		})
		Functions(f, func(s Sym) bool {
			if isGo && !strings.HasPrefix(s.Raw, "main.") {
				return true
			}
			for addr := s.Addr; addr < s.Addr+s.Size; addr++ {
				if lines := f.Lines(addr, nil); len(lines) > 0 && lines[0].File == file {
					seen[lines[0].Line] = append(seen[lines[0].Line], addr)
				}
			}
			return true
		})
		if len(seen) < 3 {
			t.Fatalf("%s: %d lines of %q (go %v)", program, len(seen), file, isGo)
		}
		f = open(t, program, nil)
		n := 0
		for line := range seen {
			if n++; n > 2 { // each reads all tables, which the file's budget bounds
				break
			}
			c := AtLine(f, file, line)
			for _, addr := range c.Addrs {
				// A line may have no code where it begins, as that of a declaration.
				if lines := f.Lines(addr, nil); !slices.Contains(seen[line], addr) && (isGo || !slices.ContainsFunc(lines, func(l Line) bool { return l.File == file })) {
					t.Errorf("%s:%d: code at %#x, which is of %v", file, line, addr, lines)
				}
			}
			if len(c.Addrs) == 0 || !c.Found {
				t.Errorf("%s:%d: no code, but some at %#x", file, line, seen[line])
			}
			if before := AtLine(f, file, line-1); len(before.Addrs) == 0 && before.Next != line {
				t.Errorf("%s:%d: %+v, want code in line %d", file, line-1, before, line)
			}
		}
		if c := AtLine(f, "other.cc", 3); c.Found || len(c.Addrs) > 0 {
			t.Errorf("a file that there is not: %+v", c)
		}
		if c := AtLine(f, path.Base(file), 1<<20); c.Next != 0 || len(c.Addrs) > 0 || !c.Found {
			t.Errorf("%s: behind the end of %s: %+v, %v", program, file, c, f.Missing())
		}
	}
}
