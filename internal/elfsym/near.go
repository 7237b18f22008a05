package elfsym

import (
	"debug/elf"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// A Near is a function whose name resembles another.
type Near struct {
	Name     string // demangled, without parameters
	Distance int    // insertions, deletions and substitutions; more if it only contains the other name
}

// Near calls found with the functions whose names resemble name: those that differ by a few
// changes, and those that contain it. For a demangled name it is enough that the last part
// resembles name. Near reads all symbols.
func (f *File) Near(name string, found func(Near)) {
	if name == "" || len(name) > maxName {
		return
	}
	m := newMatcher(name)
	tried := 0 // bytes that were demangled
	for _, t := range f.allTables() {
		t.scan(func(_ uint32, s rawSym) bool {
			if k := s.kind(); k != elf.STT_FUNC && k != elf.STT_GNU_IFUNC || !s.defined() {
				return true
			}
			raw, _, _ := strings.Cut(t.name(&s), "@")
			if mangled(raw) {
				if len(raw) > maxMangled || tried > maxTried {
					return true
				}
				tried += len(raw)
				raw = demangle.Filter(oldRust(raw), demangle.NoParams, demangle.NoTemplateParams, demangle.MaxLength(maxDemangled))
			}
			if d, ok := m.distance(raw); ok {
				found(Near{raw, d})
			}
			return true
		})
	}
}

// matcher compares names with one name.
type matcher struct {
	name  string // in lower case
	limit int    // largest distance that still counts
	row   []int
}

func newMatcher(name string) *matcher {
	return &matcher{name: strings.ToLower(name), limit: max(1, (len(name)+2)/3), row: make([]int, len(name)+1)}
}

// minPart is the least length of a name that is looked for inside others.
const minPart = 4

// distance returns the distance of a name, if it is within the limit.
func (m *matcher) distance(name string) (int, bool) {
	name = strings.ToLower(name)
	d := m.edits(name)
	if i := strings.LastIndexAny(name, ":."); i >= 0 && i+1 < len(name) {
		d = min(d, 1+m.edits(name[i+1:]))
	}
	if d > m.limit && len(m.name) >= minPart && strings.Contains(name, m.name) {
		return m.limit + len(name) - len(m.name), true
	}
	return d, d <= m.limit
}

// edits returns the Levenshtein distance, or more than the limit.
func (m *matcher) edits(name string) int {
	if n := len(name) - len(m.name); n > m.limit || -n > m.limit {
		return m.limit + 1
	}
	row := m.row[:len(m.name)+1]
	for i := range row {
		row[i] = i
	}
	for i := range len(name) {
		corner := row[0]
		row[0] = i + 1
		least := row[0]
		for j := range len(m.name) {
			cost := corner
			if name[i] != m.name[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, corner+1)
			least = min(least, row[j+1])
		}
		if least > m.limit {
			return least
		}
	}
	return row[len(m.name)]
}
